"""Compiling PyTorch modules whose gradients stop, or are others than those of
what they compute."""

from package import need

need("torch", "onnx", "onnxscript")

import copy  # noqa: E402
import warnings  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (  # noqa: E402
    Buffered, Classifier, Doubled, ExportCase, Unknown)
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Siamese(Classifier):
    """Draws two views together, as SimSiam."""

    def forward(self, x):
        one, two = super().forward(x), super().forward(2 * x)
        near = F.cosine_similarity(one, two.detach())
        return one * near.unsqueeze(1)


class Quantized(Classifier):
    """Has the nearest of learned codes between its layers, as VQ-VAE, and
    passes the gradient straight through."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(5, 16))

    def forward(self, x):
        hidden = self.hidden(x)
        nearest = torch.cdist(hidden, self.codes).argmin(1)
        code = self.codes[nearest]
        apart = ((hidden.detach() - code)**2).mean()
        committed = ((hidden - code.detach())**2).mean()
        scores = self.out(hidden + (code - hidden).detach())
        return scores + (apart + 0.25 * committed) * scores.detach()


class Taught(Classifier):
    """Learns from itself, as it is without gradients."""

    def forward(self, x):
        with torch.no_grad():
            target = super().forward(x).softmax(1)
            target = target**2 / (target**2).sum(1, keepdim=True)
        return super().forward(x) * target


class Reverse(torch.autograd.Function):
    """Turns the gradient around, as adversaries of a domain do."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.factor * gradient, None


class Spike(torch.autograd.Function):
    """Is a step, with the gradient of a smooth one."""

    @staticmethod
    def forward(x, threshold):
        return (x > threshold).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.threshold = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient / (1 + 5 * (x - ctx.threshold).abs())**2, None


class Product(torch.autograd.Function):
    """Multiplies two tensors, and each gets half of its gradient."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y / 2, gradient * x / 2


class Rows(torch.autograd.Function):
    """Sums rows, so that the gradient has another shape."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum(1, keepdim=True)

    @staticmethod
    def backward(ctx, gradient):
        return 3 * gradient.expand_as(ctx.saved_tensors[0])


reverse = Reverse.apply  # what many files do


class Adversary(Classifier):

    def forward(self, x):
        hidden = self.hidden(x).tanh()
        return self.out(hidden) + self.out(reverse(hidden, 0.5)).flip(1)


class Spiking(Classifier):
    """Adds up over four steps, and starts anew after a spike."""

    def forward(self, x):
        level, spikes = 0, 0
        for _ in range(4):
            level = 0.8 * level + self.hidden(x)
            spike = Spike.apply(level, 0.5)
            level = level - spike.detach()
            spikes = spikes + spike
        return self.out(spikes / 4)


class Halved(Classifier):

    def forward(self, x):
        hidden = self.hidden(x)
        return self.out(Product.apply(hidden, hidden.sigmoid()))


class Applied(Classifier):
    """Applies a Function to what it returns."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return super().forward(x) * self.function.apply(self.hidden(x))[:, :4]


def focal(scores, labels):
    """Weighs samples by how wrong they are, and gives the weight no
    gradient."""
    each = F.cross_entropy(scores, labels, reduction="none")
    with torch.no_grad():
        weight = (1 - torch.exp(-each))**2
    return (weight * each).mean()


class ExportGradients(ExportCase):

    def trains_as_pytorch(self, module, loss=F.cross_entropy, **options):
        """Compares three steps and what they make of the parameters."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan = zg.compile(module, (self.x, self.labels), loss,
                              optimizer="sgd", lr=0.5, **options)
        trained = copy.deepcopy(module)
        optimizer = torch.optim.SGD(module.parameters(), 0.5)
        with zg.Trainer(plan) as trainer:
            for _ in range(3):
                ours = trainer.step((self.x, self.labels))
                optimizer.zero_grad()
                value = loss(module(self.x), self.labels)
                value.backward()
                optimizer.step()
                self.assertAlmostEqual(ours, float(value.detach()), 5)
            trainer.load_into(trained)
        arrays = trained.state_dict()
        for name, one in module.state_dict().items():
            np.testing.assert_allclose(arrays[name], one, rtol=1e-4, atol=1e-5,
                                       err_msg=name)

    def test_where_gradients_stop(self):
        for module in (Siamese(), Quantized(), Taught(), Buffered("detach"),
                       Buffered("no_grad")):
            with self.subTest(type(module).__name__):
                self.trains_as_pytorch(module)
        self.trains_as_pytorch(Classifier(), focal)
        self.trains_as_pytorch(Siamese(), ranks=2, zero=3)

    def test_functions_that_multiply_gradients(self):
        for module in Adversary(), Spiking(), Halved():
            with self.subTest(type(module).__name__):
                self.trains_as_pytorch(module)

    def test_a_file_has_both(self):
        for module in Quantized(), Taught(), Adversary(), Spiking():
            found = self.export(module, (self.x, self.labels))
            self.assertTrue(found.ok, found)

    def test_functions_that_do_more_are_named(self):
        for function in Doubled, Rows:
            self.assertRegex(
                "; ".join(self.warnings_of(Applied(function))),
                f"{function.__name__} of torch.autograd.Function.*more than "
                "multiply")

    def test_functions_stay_as_they_were(self):
        before = Reverse.forward, Spike.forward
        self.export(Adversary(), (self.x, self.labels))
        self.export(Spiking(), (self.x, self.labels))
        self.assertEqual((Reverse.forward, Spike.forward), before)

    def test_a_file_of_the_older_exporter(self):
        """It writes neither detach() nor no_grad()."""
        class Stopped(Unknown):
            def forward(self, x):
                return super().forward(x) + super().forward(x).detach()
        self.assertRegex(
            "; ".join(self.warnings_of(
                Stopped(), (torch.randn(6, 3, 6, 6), self.labels))),
            "torch.no_grad.. or detach.. gives no gradient.*gradients go through")


if __name__ == "__main__":
    main()
