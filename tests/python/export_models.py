"""The modules that the suites of zg.export write, and what these suites share."""

import copy
import inspect
import warnings

import numpy as np
import torch
import zerograph as zg
from support import Case
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):

    def __init__(self, dropout=0.0):
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        return self.out(self.dropout(torch.relu(self.hidden(x))))


class Words(nn.Module):

    def __init__(self, **options):
        super().__init__()
        self.table = nn.Embedding(10, 8, **options)
        self.out = nn.Linear(8, 4)

    def forward(self, ids):
        return self.out(self.table(ids).mean(1))


class Tied(nn.Module):

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 8)
        self.out = nn.Linear(8, 4, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids):
        return self.out(self.table(ids).mean(1))


class Pictures(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        return self.out(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


class Scaled(nn.Module):
    """Has parameters of one element beside its BatchNorms, of which one runs
    twice and one has no parameters."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 4)
        self.norm = nn.BatchNorm1d(4, momentum=0.2)
        self.plain = nn.BatchNorm1d(4, eps=1e-3, affine=False)
        self.relu = nn.PReLU()
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.shift = nn.Parameter(torch.tensor([0.3]))

    def forward(self, x):
        x = self.relu(self.norm(self.hidden(x)))
        x = self.norm(self.plain(x * self.scale + self.shift))
        return x * self.scale


class Unknown(Pictures):
    """Fails in the newer exporter. A number of the older one's file that is not
    in a module of its own is a constant."""

    def __init__(self, scaled=False):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5), requires_grad=scaled)

    def forward(self, x):
        assert not torch.compiler.is_exporting()
        return super().forward(x) * self.scale


class FrozenNorm(Pictures):
    """Has a BatchNorm that stays in evaluation, as detectors do."""

    def __init__(self, trained=False):
        super().__init__()
        for one in self.norm.parameters():
            one.requires_grad_(trained)
        self.norm.running_mean.uniform_(-1, 1)
        self.train()

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self


class Causal(nn.Module):
    """Gives a decoder a mask, whose values PyTorch looks at."""

    def __init__(self):
        super().__init__()
        self.both = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
        self.out = nn.Linear(8, 4)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.out(self.both(x, x, tgt_mask=mask).mean(1))


class Clamped(Classifier):
    """Asks whether values are finite, as models of transformers do."""

    def forward(self, x):
        y = super().forward(x)
        if not torch.isfinite(y).all():
            y = y.clamp(-1e4, 1e4)
        return torch.where(torch.isfinite(y), y, 0.0)


class Doubled(torch.autograd.Function):
    """Doubles, and keeps the signs of gradients alone."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient.sign()


class Buffered(nn.Module):
    """Has a buffer, and a head that may give no gradients to what is before
    it."""

    def __init__(self, stop=None):
        super().__init__()
        self.first, self.out = nn.Linear(8, 8), nn.Linear(8, 4)
        self.register_buffer("scale", torch.rand(8) + 0.5)
        self.stop = stop

    def forward(self, x):
        if self.stop == "no_grad":
            with torch.no_grad():
                first = self.first(x)
        else:
            first = self.first(x)
        if self.stop == "detach":
            first = first.detach()
        return self.out(first + x * self.scale)


class Offsets(nn.Module):
    """Has buffers of numbers and of flags, which nobody trains."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(12, 8), nn.Linear(24, 4)
        self.register_buffer("first", torch.tensor([0, 4, 8]))
        self.register_buffer("kept", torch.arange(24) % 5 > 0)

    def forward(self, ids):
        rows = self.table(ids + self.first).flatten(1)
        return self.out(rows.masked_fill(~self.kept, 0.0))


class Rescaled(Classifier):
    """Has smaller weights in evaluation, as RWKV."""

    scaled = False

    def forward(self, x):
        if self.training == self.scaled:
            with torch.no_grad():
                self.hidden.weight.mul_(2.0 if self.scaled else 0.5)
            self.scaled = not self.training
        return super().forward(x)


class OwnLoss(Classifier):

    def forward(self, x, labels):
        logits = super().forward(x)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


class Likelihood(Classifier):
    """Has a loss of a distribution, which asks whether its arguments are
    valid."""

    def __init__(self):
        super().__init__()
        self.spread = nn.Parameter(torch.tensor(0.2))

    def forward(self, x, labels):
        mean = super().forward(x)
        spread = self.spread.exp()
        return -torch.distributions.Normal(mean, spread).log_prob(labels).mean()


class Open(Classifier):
    """Takes any name, as models of transformers do."""

    def forward(self, x, **others):
        assert not others
        return super().forward(x)


class Wrapper(nn.Module):
    """Passes all on, as PEFT does."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    def get_base_model(self):
        return self.base

    def forward(self, *args, **kwargs):
        return self.base(*args, **kwargs)


class Namesakes(nn.Module):
    """Calls what it has and is given as PyTorch calls its functions."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Parameter(torch.randn(4, 8))

    def forward(self, mul):
        return F.linear(mul * 2, self.linear)


class LeftPadded(nn.Module):
    """Attends to what is not padding: the first words see nothing."""

    def __init__(self, flags):
        super().__init__()
        self.flags = flags
        self.each = nn.Linear(8, 24)
        self.out = nn.Linear(40, 4)

    def forward(self, x, mask):
        q, k, v = self.each(x).view(-1, 5, 2, 12).transpose(1, 2).chunk(3, -1)
        mask = mask[:, None, None] & torch.ones(5, 5, dtype=torch.bool).tril()
        if not self.flags:
            mask = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
        y = F.scaled_dot_product_attention(q, k, v, mask)
        return self.out(y.transpose(1, 2).flatten(1))


def steps_as_pytorch(case, trainer, module, optimizer, example, loss=None,
                     lr=None):
    """Makes a step of both, of one loss."""
    taken = inspect.signature(module.forward).parameters
    labels = [one for name, one in example.items() if name not in taken]
    given = {name: one for name, one in example.items() if name in taken}
    ours = trainer.step(example, lr=lr)
    optimizer.zero_grad()
    value = module(**given)
    value = loss(value, *labels) if loss else getattr(value, "loss", value)
    value.backward()
    optimizer.step()
    case.assertAlmostEqual(ours, float(value.detach()), 5)


def ends_as_pytorch(trainer, module):
    """Compares what steps have made of parameters and buffers."""
    trained = copy.deepcopy(module)
    trainer.load_into(trained)
    arrays = trained.state_dict()
    for name, one in module.state_dict().items():
        np.testing.assert_allclose(arrays[name], one, rtol=1e-4, atol=1e-5,
                                   err_msg=name)


class ExportCase(Case):

    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.x = torch.randn(6, 8)
        self.labels = torch.randint(0, 4, (6,))
        self.ids = torch.randint(1, 4, (6, 5))

    def export(self, module, example, loss=F.cross_entropy, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = zg.export(module, example, self.path("model.onnx"), loss,
                              **options)
        # Each thing that is lost is warned of, and nothing else is.
        self.assertEqual(len(caught), len(found.lost),
                         [str(one.message) for one in caught])
        self.assertEqual({one.filename for one in caught} - {__file__}, set())
        return found

    def trains_as_pytorch(self, module, loss=F.cross_entropy, example=None,
                          rate=0.5, **options):
        """Compares three steps and what they make of the parameters."""
        example = example or {"x": self.x, "labels": self.labels}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan = zg.compile(module, example, loss, optimizer="sgd", lr=rate,
                              **options)
        optimizer = torch.optim.SGD(module.parameters(), rate)
        with zg.Trainer(plan) as trainer:
            for _ in range(3):
                steps_as_pytorch(self, trainer, module, optimizer, example, loss)
            ends_as_pytorch(trainer, module)

    def lost(self, module, example, *parts, **options):
        found = self.export(module, example, **options)
        self.assertFalse(found.ok)
        for part in parts:
            self.assertTrue(any(part in one for one in found.lost), found)
        return found

    def warnings_of(self, module, example=None, loss=F.cross_entropy,
                    **options) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            zg.compile(module, example or (self.x, self.labels), loss, **options)
        ours = [one for one in caught
                if "requires_grad=True to a scalar" not in str(one.message)]
        # Each names the line here that has called the package.
        self.assertEqual({one.filename for one in ours} - {__file__}, set())
        return [str(one.message) for one in ours]
