"""Exporting PyTorch modules: what is lost is named, and nothing else."""

import warnings

from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from support import Case, main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from zerograph._check import check_small  # noqa: E402


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
    """Doubles, but not the gradients."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


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


class Export(Case):

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
        return found

    def warnings_of(self, module) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            zg.compile(module, (self.x, self.labels), F.cross_entropy)
        return [str(one.message) for one in caught
                if "requires_grad=True to a scalar" not in str(one.message)]

    def test_nothing_is_lost(self):
        # Its attention has a dropout too.
        encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1,
                                             batch_first=True)
        words = torch.randn(6, 5, 8)
        seen = torch.arange(5) >= torch.arange(6)[:, None] // 2
        for module, example in (
                (Classifier(), (self.x, self.labels)),
                (Classifier(dropout=0.3), (self.x, self.labels)),
                (Words(), (self.ids, self.labels)),
                (Tied(), (self.ids, self.labels)),
                (Pictures(), (torch.randn(6, 3, 6, 6), self.labels)),
                (Unknown(), (torch.randn(6, 3, 6, 6), self.labels)),
                (Scaled(), (self.x, self.labels)),
                (Buffered(), {"x": self.x, "target": self.labels}),
                (Clamped(), (self.x, self.labels)),
                (Causal(), (torch.randn(6, 5, 8), self.labels)),
                (nn.Sequential(encoder, nn.Flatten(), nn.Linear(40, 4)),
                 {"input": torch.randn(6, 5, 8), "y": self.labels}),
                (Namesakes(), (self.x, self.labels)),
                (LeftPadded(flags=True), (words, seen, self.labels)),
                (LeftPadded(flags=False), (words, seen, self.labels))):
            with self.subTest(type(module).__name__):
                before = {name: one.clone()
                          for name, one in module.state_dict().items()}
                mode = module.training
                found = self.export(module, example)
                self.assertEqual(found.lost, [])
                self.assertLess(max(found.errors.values()), 0.1)
                self.assertAlmostEqual(found.loss, found.expected_loss, 5)
                # The module is as it was.
                self.assertEqual(module.training, mode)
                for name, one in module.state_dict().items():
                    self.assertTrue(torch.equal(one, before[name]), name)

    def test_parameters_have_the_modules_names(self):
        module = Classifier()
        self.export(module, (self.x, self.labels))
        model = onnx.load(self.path("model.onnx"))
        self.assertEqual(
            {one.name for one in model.graph.initializer
             if one.name in dict(module.named_parameters())},
            set(dict(module.named_parameters())))
        self.assertEqual(self.json("model.names.json")["out.bias"], "out.bias")

    def lost(self, module, example, *parts, **options):
        found = self.export(module, example, **options)
        self.assertFalse(found.ok)
        for part in parts:
            self.assertTrue(any(part in one for one in found.lost), found)
        return found

    def test_what_is_lost_is_named(self):
        ids = self.ids.clone()
        ids[0, 0] = 0
        self.lost(Words(scale_grad_by_freq=True), (ids, self.labels),
                  "scale_grad_by_freq")
        self.lost(Words(max_norm=0.5), (ids, self.labels), "max_norm")
        self.lost(Buffered("detach"), (self.x, self.labels), "detach()")
        self.lost(Buffered("no_grad"), (self.x, self.labels),
                  "'first.weight': PyTorch gives it no gradient")
        self.lost(Unknown(scaled=True),
                  (torch.randn(6, 3, 6, 6), self.labels),
                  "'scale' is in the file, and not trained there")
        frozen = Classifier()
        frozen.hidden.weight.requires_grad_(False)
        found = self.lost(frozen, (self.x, self.labels),
                          "requires_grad=False")
        self.assertEqual(found.freeze, ["hidden.weight"])

    def test_a_file_of_the_older_exporter(self):
        """It loses more, in silence."""
        def write(module, example, **options):
            class WithLoss(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.model = module

                def forward(self, x, labels):
                    return F.cross_entropy(self.model(x), labels)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.onnx.export(
                    WithLoss().train(), example, self.path("old.onnx"),
                    dynamo=False, input_names=["x", "labels"],
                    do_constant_folding=False, opset_version=17,
                    dynamic_axes={"x": {0: "batch"}, "labels": {0: "batch"}},
                    **options)
            return zg.check(module, self.path("old.onnx"),
                            dict(zip(("x", "labels"), example)),
                            loss=F.cross_entropy)

        training = {"training": torch.onnx.TrainingMode.TRAINING}
        ids = self.ids.clone()
        ids[0, 0] = 0

        class Renamed(Words):
            def forward(self, x):
                return super().forward(x)
        self.assertIn("padding_idx was not written: row 0 is trained",
                      str(write(Renamed(padding_idx=0), (ids, self.labels),
                                **training)))
        self.assertIn("1 of 1 dropouts are not in the file",
                      str(write(Classifier(dropout=0.5),
                                (self.x, self.labels))))
        self.assertIn("'first.weight': PyTorch gives it no gradient",
                      str(write(Buffered("detach"), (self.x, self.labels),
                                **training)))
        self.assertIn("'scale' is a buffer, and trained here",
                      str(write(Buffered(), (self.x, self.labels),
                                **training)))
        self.assertTrue(write(Classifier(), (self.x, self.labels),
                              **training).ok)

    def test_a_file_of_another_module(self):
        self.export(Classifier(), (self.x, self.labels))
        torch.manual_seed(1)
        found = zg.check(Classifier(), self.path("model.onnx"),
                         (self.x, self.labels), F.cross_entropy)
        self.assertTrue(any("the loss is" in one for one in found.lost), found)
        self.assertTrue(any("'out.weight' is not in the file" in one
                            for one in found.lost), found)
        with self.assertRaisesRegex(zg.InvalidArgument, "no such file"):
            zg.check(Classifier(), self.path("no.onnx"), (self.x, self.labels))

    def test_a_parameter_that_the_file_does_not_train(self):
        module = Classifier()
        self.export(module, (self.x, self.labels))
        found = check_small(module, self.path("model.onnx"),
                            {"x": self.x, "labels": self.labels},
                            F.cross_entropy, ["out.bias"])
        self.assertEqual(found.lost, [
            "'out.bias' is in the file, and not trained there, but PyTorch gives "
            "it a gradient"])

    def test_losses(self):
        module = OwnLoss()
        found = self.export(module, (self.x, self.labels), loss=None)
        self.assertTrue(found.ok, found)
        found = self.export(Likelihood(), (self.x, torch.randn(6, 4)),
                            loss=None)
        self.assertTrue(found.ok, found)
        weight = torch.rand(4) + 0.5
        ignored = self.labels.clone()
        ignored[2] = -100
        for labels, loss in (
                (self.labels, nn.CrossEntropyLoss(label_smoothing=0.1)),
                (ignored, nn.CrossEntropyLoss(weight, label_smoothing=0.1)),
                (torch.randn(6, 4).softmax(1), nn.CrossEntropyLoss()),
                (torch.randn(6, 4).softmax(1),
                 nn.CrossEntropyLoss(weight, label_smoothing=0.1))):
            found = self.export(Classifier(), {"x": self.x, "labels": labels},
                                loss=loss)
            self.assertTrue(found.ok, found)
        found = self.export(Wrapper(Open()), {"x": self.x, "y": self.labels},
                            F.cross_entropy)
        self.assertTrue(found.ok, found)
        with self.assertRaisesRegex(zg.InvalidArgument, "returns no loss"):
            zg.export(Classifier(), (self.x,), self.path("m.onnx"))
        with self.assertRaisesRegex(zg.InvalidArgument, "nothing is left for"):
            zg.export(Classifier(), (self.x,), self.path("m.onnx"),
                      F.cross_entropy)

    def test_a_loss_over_parameters(self):
        for module, x in ((Classifier(), self.x),
                          (Pictures(), torch.randn(6, 3, 6, 6))):
            kept = list(module.parameters())

            def loss(scores, labels, kept=kept):
                return F.cross_entropy(scores, labels) + 0.1 * sum(
                    one.pow(2).sum() for one in kept)
            found = self.export(module, (x, self.labels), loss)
            self.assertTrue(found.ok, found)

    def test_what_is_trained_outside_of_the_module(self):
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.centers = nn.Parameter(torch.randn(4, 4))

            def forward(self, scores, labels):
                return F.cross_entropy(scores @ self.centers, labels)
        head = Head()
        for loss, text in (
                (head, r"'centers' of loss= of shape \[4, 4\].*would not be"),
                (lambda scores, labels: head(scores, labels),
                 r"a tensor of shape \[4, 4\].*would not be trained")):
            with self.assertRaisesRegex(zg.Error, text):
                zg.compile(Classifier(), (self.x, self.labels), loss)
        head.requires_grad_(False)
        self.assertTrue(self.export(Classifier(), (self.x, self.labels),
                                    head).ok)

        class Own(Classifier):
            """Takes gradients of what it has made itself."""
            def forward(self, x):
                return super().forward(x.requires_grad_())
        self.assertTrue(self.export(Own(), (self.x, self.labels)).ok)

    def test_a_gradient_penalty(self):
        class Penalty(Classifier):
            def forward(self, x):
                x = x.detach().requires_grad_()
                y = super().forward(x)
                return torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        with self.assertRaisesRegex(zg.Error, "takes gradients itself"):
            zg.compile(Penalty(), (self.x, self.x), F.mse_loss)

    def test_a_module_of_float64(self):
        torch.manual_seed(0)
        module = nn.Sequential(
            nn.Linear(8, 16, dtype=torch.float64), nn.Tanh(),
            nn.Linear(16, 4, dtype=torch.float64))
        example = (torch.randn(6, 8, dtype=torch.float64), self.labels)
        plan = zg.compile(module, example, F.cross_entropy)
        with zg.Trainer(plan) as trainer:
            self.assertEqual(
                trainer.step(example),
                float(F.cross_entropy(module(example[0]),
                                      self.labels).detach()))

    def test_dims_that_vary(self):
        module = nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 4))
        ids = torch.randint(0, 4, (6, 5))

        def loss(scores, labels):
            return F.cross_entropy(scores.flatten(0, 1), labels.flatten())
        self.export(module, {"input": ids, "labels": ids}, loss,
                    dynamic={"input": {1: "seq"}, "labels": {1: "seq"}})
        longer = torch.randint(0, 4, (4, 9)).numpy()
        plan = zg.compile(self.path("model.onnx"),
                          example={"input": longer, "labels": longer}, ranks=2)
        with zg.Trainer(plan) as trainer:
            self.assertGreater(trainer.step({"input": longer,
                                             "labels": longer}), 0)

    def test_from_module_to_module(self):
        """A module is compiled, trained beside PyTorch, and takes its weights
        back."""
        module = Classifier()
        module.hidden.bias.requires_grad_(False)
        plan = zg.compile(module, example=(self.x, self.labels),
                          loss=F.cross_entropy, optimizer="sgd", lr=0.1)
        optimizer = torch.optim.SGD(
            [one for one in module.parameters() if one.requires_grad], 0.1)
        with zg.Trainer(plan) as trainer:
            for _ in range(5):
                ours = trainer.step({"x": self.x, "labels": self.labels})
                optimizer.zero_grad()
                loss = F.cross_entropy(module(self.x), self.labels)
                loss.backward()
                optimizer.step()
                self.assertAlmostEqual(ours, float(loss.detach()), 5)
            trained = Classifier()
            trainer.load_into(trained)
            arrays = trainer.state_dict()
            with self.assertRaisesRegex(ValueError, "no tensors for hidden"):
                trainer.load_into(nn.Linear(16, 4))
        for name, one in module.state_dict().items():
            np.testing.assert_allclose(trained.state_dict()[name], one,
                                       rtol=1e-5, atol=1e-6, err_msg=name)
        # A plan in a file has no weights of a module, and takes arrays.
        plan.save(self.path("p.zgplan"))
        loaded = zg.load(self.path("p.zgplan"))
        del plan, trainer
        with self.assertRaisesRegex(zg.Error, "load_weights"):
            zg.Trainer(loaded)
        with zg.Trainer(loaded, load_weights=arrays) as trainer:
            np.testing.assert_array_equal(
                trainer.state_dict()["out.weight"], arrays["out.weight"])

    def test_a_step_is_that_of_pytorch(self):
        ids = torch.randint(0, 4, (6, 3))
        pictures = torch.randn(6, 3, 6, 6)
        for module, x in ((Offsets(), ids), (Rescaled(), self.x),
                          (FrozenNorm(), pictures),
                          (FrozenNorm(trained=True), pictures),
                          (Causal(), torch.randn(6, 5, 8))):
            plan = zg.compile(module, example=(x, self.labels),
                              loss=F.cross_entropy, optimizer="sgd", lr=0.1)
            before = {name: one.clone()
                      for name, one in module.state_dict().items()}
            optimizer = torch.optim.SGD(module.parameters(), 0.1)
            optimizer.zero_grad()
            F.cross_entropy(module(x), self.labels).backward()
            optimizer.step()
            with zg.Trainer(plan) as trainer:
                trainer.step(dict(zip(plan.inputs, (x, self.labels))))
                arrays = trainer.state_dict()
            for name, one in module.named_parameters():
                self.assertEqual(torch.equal(one, before[name]),
                                 not one.requires_grad, name)
                np.testing.assert_allclose(arrays[name], one.detach(),
                                           rtol=1e-5, atol=1e-6, err_msg=name)

    def test_advice_for_a_module(self):
        module, ranks = Classifier(), 2
        batch = (torch.randn(16, 8), torch.randint(0, 4, (16,)))
        advice = zg.advise(module, "h100-sxm", batch, F.cross_entropy,
                           ranks=ranks)
        best = advice["trials"][0]["options"]
        self.assertEqual(best["micro_batch"] * best["accumulate"] * ranks, 16)
        plan = zg.compile(module, batch, F.cross_entropy, ranks=ranks, **best)
        self.assertEqual(plan.samples, 16)
        self.assertEqual(plan.simulate("h100-sxm")["samples_per_second"],
                         advice["trials"][0]["samples_per_second"])

    def test_initial_statistics(self):
        """They are in the file as in the module, whichever exporter writes
        it."""
        for module in Pictures(), Unknown():
            self.export(module, (torch.randn(6, 3, 6, 6), self.labels))
            model = onnx.load(self.path("model.onnx"))
            self.assertEqual(model.opset_import[0].version == 17,
                             isinstance(module, Unknown))
            arrays = {one.name: onnx.numpy_helper.to_array(one)
                      for one in model.graph.initializer}
            for name in "norm.running_mean", "norm.running_var":
                np.testing.assert_array_equal(arrays[name],
                                              module.state_dict()[name])

    def test_running_statistics(self):
        """They move as PyTorch's, whose variance of a batch is that of samples
        of a population."""
        module = Scaled()
        plan = zg.compile(module, (self.x, self.labels), F.cross_entropy,
                          optimizer="sgd", lr=0.1)
        self.assertFalse(any(one.any() for name, one in module.named_buffers()
                             if "running_mean" in name))
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        trained = Scaled()
        with zg.Trainer(plan) as trainer:
            for _ in range(3):
                trainer.step((self.x, self.labels))
                optimizer.zero_grad()
                F.cross_entropy(module(self.x), self.labels).backward()
                optimizer.step()
            trainer.load_into(trained)
        arrays = trained.state_dict()
        for name, one in module.state_dict().items():
            if "running_var" in name:
                samples = len(self.x)
                momentum = 0.2 if "norm" in name else 0.1
                runs = 6 if "norm" in name else 3
                kept = (1 - momentum)**runs
                one = kept + (one - kept) * (samples - 1) / samples
            if "num_batches" not in name:
                np.testing.assert_allclose(arrays[name], one, rtol=1e-4,
                                           atol=1e-5, err_msg=name)

    def test_tied_weights_go_back(self):
        module, trained = Tied(), Tied()
        plan = zg.compile(module, example=(self.ids, self.labels),
                          loss=F.cross_entropy)
        with zg.Trainer(plan) as trainer:
            trainer.step({"ids": self.ids, "labels": self.labels})
            trainer.load_into(trained)
            self.assertAlmostEqual(
                float(F.cross_entropy(trained(self.ids),
                                      self.labels).detach()),
                trainer.step({"ids": self.ids, "labels": self.labels}), 5)

    def test_what_no_file_can_say(self):
        class Forked(Classifier):
            def forward(self, x):
                return super().forward(-x if x.sum() > 0 else x)

        class Unused(Classifier):
            def __init__(self):
                super().__init__()
                self.spare = nn.Linear(3, 3)

        class ForkedNorm(Forked):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(self.out.out_features)

            def forward(self, x):
                return self.norm(super().forward(x))

        for module in Forked(), ForkedNorm():
            with self.assertRaisesRegex(zg.Error, "another path by the values.*"
                                        "export_test.py:.*x.sum"):
                self.export(module, (self.x, self.labels))
        self.assertTrue(self.export(Unused(), (self.x, self.labels)).ok)
        zg.compile(Unused(), example=(self.x, self.labels),
                   loss=F.cross_entropy)
        with self.assertWarnsRegex(UserWarning, "in evaluation mode"):
            zg.export(Classifier().eval(), (self.x, self.labels),
                      self.path("m.onnx"), F.cross_entropy)

    def test_a_sum_over_samples(self):
        with self.assertWarnsRegex(UserWarning, "a sum over samples"):
            zg.export(Classifier(), (self.x, self.labels), self.path("m.onnx"),
                      nn.CrossEntropyLoss(reduction="sum"))
        onnx_names = [one.name for one in
                      onnx.load(self.path("m.onnx")).graph.input]
        plan = zg.compile(self.path("m.onnx"), example=(self.x, self.labels))
        self.assertEqual(plan.inputs, onnx_names)
        with self.assertRaisesRegex(zg.InvalidArgument, "the example has 1 arrays, and the model "
                                    "2 inputs: x, labels"):
            zg.compile(self.path("m.onnx"), example=(self.x,))

    def test_random_numbers_of_others(self):
        class Masked(Classifier):
            def forward(self, x):
                kept = torch.from_numpy(np.random.rand(8) > 0.5)
                return super().forward(x * kept)
        with self.assertWarnsRegex(UserWarning, "random numbers that are not "
                                   "PyTorch's.*every step would take the same"):
            zg.export(Masked(), (self.x, self.labels), self.path("model.onnx"),
                      F.cross_entropy, compare=False)

    def test_gradients_that_are_not_in_the_file(self):
        class Straight(Classifier):
            def forward(self, x):
                return Doubled.apply(super().forward(x))

        class Scaled(Classifier):
            def forward(self, x):
                y = super().forward(x)
                return y / y.abs().max().item()

        class Bound(Classifier):
            def forward(self, x):
                with torch.no_grad():
                    self.hidden.weight.clamp_(-0.1, 0.1)
                return super().forward(x)
        for module, text in (
                (Straight(), "Doubled of torch.autograd.Function"),
                (Buffered("no_grad"), "under torch.no_grad"),
                (Scaled(), "numbers of Python.*'hidden.weight': the gradient"),
                (Bound(), "forward.. changes hidden.weight in place")):
            self.assertRegex("; ".join(self.warnings_of(module)), text)

    def test_what_is_only_in_the_file_in_another_way(self):
        """Nothing is said where the gradients are PyTorch's."""
        class Squared(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                return 2 * gradient * ctx.saved_tensors[0]

        class Same(Classifier):
            def forward(self, x):
                y = super().forward(x)
                self.largest = float(y.max())
                with torch.no_grad():
                    best = super().forward(x).argmax(1, keepdim=True)
                return Squared.apply(y).scatter(1, best, 0.0)

        class Drawn(Classifier):
            """Draws random numbers, as a variational autoencoder."""
            def forward(self, x):
                return super().forward(x + torch.randn_like(x))
        channels = nn.Sequential(nn.Unflatten(1, (2, 4)), nn.Dropout1d(),
                                 nn.Flatten(), nn.Linear(8, 4))
        for module in Same(), Drawn(), channels, Classifier(dropout=0.3):
            self.assertEqual(self.warnings_of(module), [])
        for module in Drawn(), channels:
            found = self.export(module, (self.x, self.labels))
            self.assertIn("depends on random numbers", str(found))

    def test_a_count_of_calls(self):
        class Growing(Classifier):
            calls = 0

            def forward(self, x):
                self.calls += 1
                return super().forward(x) * min(1.0, self.calls / 100)
        self.assertRegex("; ".join(self.warnings_of(Growing())),
                         "does not compute what PyTorch does: .*hidden.weight")

    def test_parameters_that_are_given_other_data(self):
        class Assigned(Classifier):
            def forward(self, x):
                self.out.weight.data = self.out.weight.data / 2
                return super().forward(x)
        with self.assertRaisesRegex(zg.Error, "assigns .data of out.weight"):
            self.warnings_of(Assigned())

    def test_what_pytorch_cannot_export(self):
        class Exponential(Classifier):
            def forward(self, x):
                return super().forward(x @ torch.linalg.matrix_exp(x.T @ x))
        with self.assertRaises(zg.Error) as caught:
            self.warnings_of(Exponential())
        text = str(caught.exception)
        self.assertIn("either exporter: No ONNX function found for "
                      "aten.linalg_matrix_exp", text)
        self.assertNotIn("\x1b", text)
        self.assertLess(len(text.splitlines()), 5, text)

    def test_a_loss_that_is_not_finite(self):
        class Root(Classifier):
            def forward(self, x):
                return super().forward(x).sqrt()
        found = self.export(Root(), (self.x, self.labels))
        self.assertRegex(str(found), "nothing can be compared: "
                         r"PyTorch's own loss \(nan\) is not finite")
        self.assertEqual(len(found.lost), 1)
        self.assertEqual(self.warnings_of(Root()), [])

    def test_mistakes(self):
        module, example = Classifier(), (self.x, self.labels)
        for call, part in (
                (lambda: zg.compile(module, example), "takes no labels: give"),
                (lambda: zg.compile(module, example, nn.CrossEntropyLoss(
                    reduction="none")),
                 r"returned a tensor of shape \[.*\], expected one number"),
                (lambda: zg.compile(module, example, "cross_entropy"),
                 "expected a function of the output"),
                (lambda: zg.compile(module), "give example="),
                (lambda: zg.compile("m.onnx", example), "no such file"),
                (lambda: zg.compile(module, ((self.x, 1), self.labels),
                                    F.cross_entropy), "one array"),
                (lambda: zg.compile(module, example, F.cross_entropy,
                                    optimizer=module), "is a Classifier"),
                (lambda: zg.Trainer(module), "the plan is a Classifier"),
                (lambda: zg.export(module, example, "no/m.onnx",
                                   F.cross_entropy), "no such folder")):
            with self.assertRaisesRegex(zg.InvalidArgument, part):
                call()


if __name__ == "__main__":
    main()
