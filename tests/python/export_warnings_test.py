"""Exporting PyTorch modules: what is lost is named, and nothing else."""

import copy
import os
import random
import warnings
from unittest import mock

from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (  # noqa: E402
    Buffered, Classifier, Doubled, ExportCase, Unknown, Words)
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from zerograph._check import check_small  # noqa: E402
from zerograph._written_out import written_out  # noqa: E402


class ExportWarnings(ExportCase):

    def test_what_is_lost_is_named(self):
        ids = self.ids.clone()
        ids[0, 0] = 0
        self.lost(Words(scale_grad_by_freq=True), (ids, self.labels),
                  "scale_grad_by_freq")
        self.lost(Words(max_norm=0.5), (ids, self.labels), "max_norm")
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

        class Previous(Classifier):
            previous = 0

            def forward(self, x):
                scores = super().forward(x) + self.previous
                self.previous = scores.detach()
                return scores
        for module, name in ((Growing(), "calls"), (Previous(), "previous"),
                             (Growing().eval(), "calls")):
            self.assertRegex("; ".join(self.warnings_of(module)),
                             f"with each call of forward.*which sets {name}: ")

    def test_a_count_that_matters_later(self):
        class Warming(Classifier):
            calls = 0

            def forward(self, x):
                self.calls += 1
                return super().forward(x) * (1.0 if self.calls > 100 else 0.5)

        class Cooling(Classifier):
            def __init__(self):
                super().__init__()
                self.state = {"temperature": 1.0}

            def forward(self, x):
                self.state["temperature"] *= 0.999
                return super().forward(x) / max(self.state["temperature"], 0.99)

        class Listed(Classifier):
            def __init__(self):
                super().__init__()
                self.scales, self.calls = [1.0] * 50, 0

            def forward(self, x):
                self.calls += 1
                return super().forward(x) * self.scales[self.calls]

        for module, name in ((Warming(), "calls"), (Cooling(), "temperature"),
                             (Listed(), "calls"),
                             (nn.Sequential(nn.Identity(), Warming()),
                              "1.calls")):
            before = copy.deepcopy(vars(module))
            self.assertRegex("; ".join(self.warnings_of(module)),
                             f"forward.. has counted {name} far enough")
            for key in set(before) & {"calls", "state", "scales"}:
                self.assertEqual(vars(module)[key], before[key])

    def test_counts_that_nothing_depends_on(self):
        class Counting(Classifier):
            def forward(self, x):
                self.calls = getattr(self, "calls", 0) + 1
                self.samples = x.shape[0]
                self.seen = {**getattr(self, "seen", {}), self.calls: 1.5}
                return super().forward(x) * len(x) / self.samples
        self.assertEqual(self.warnings_of(Counting()), [])

    def test_a_loss_that_is_not_finite(self):
        class Root(Classifier):
            def forward(self, x):
                return super().forward(x).sqrt()
        found = self.export(Root(), (self.x, self.labels))
        self.assertRegex(str(found), "nothing can be compared: "
                         r"PyTorch's own loss \(nan\) is not finite")
        self.assertEqual(len(found.lost), 1)
        self.assertEqual(self.warnings_of(Root()), [])

    def test_what_data_is_read_for(self):
        class Read(Classifier):
            def forward(self, x):
                weight = self.out.weight
                self.seen = (weight.data.shape, weight.data[0, 0],
                             1 - weight.data, len(weight.data))
                return super().forward(x)
        self.assertEqual(self.warnings_of(Read()), [])

    def test_what_is_changed_in_place(self):
        def writes(change):
            class Changed(Classifier):
                def forward(self, x):
                    with torch.no_grad():
                        change(self.out.weight)
                    return super().forward(x)
            return Changed()

        def put(weight):
            weight.data[0] = 0.5
        for change in (
                put, lambda weight: weight.data.copy_(weight / 2),
                lambda weight: weight.view(-1)[3:].zero_(),
                lambda weight: torch.mul(weight, 0.5, out=weight.data)):
            self.assertIn("forward() changes out.weight in place",
                          "; ".join(self.warnings_of(writes(change))))

    def test_numbers_that_are_seldom_others(self):
        """Two runs may draw what does the same."""
        class Masked(Classifier):
            def forward(self, x):
                return super().forward(x * (random.random() > 0.3))
        random.seed(2)  # the third number is the first below it
        self.assertRegex("; ".join(self.warnings_of(Masked())),
                         "random numbers that are not PyTorch's")

    def test_numbers_that_nothing_depends_on(self):
        class Drawn(Classifier):
            def forward(self, x):
                random.random()
                torch.rand(1)
                return super().forward(x)

        class NotFinite(Drawn):
            def forward(self, x):
                return super().forward(x).sqrt()
        for module in Drawn(), NotFinite():
            self.assertEqual(self.warnings_of(module), [])
        self.assertTrue(self.export(Drawn(), (self.x, self.labels)).ok)
        channels = nn.Sequential(nn.Unflatten(1, (2, 4)), nn.Dropout1d().eval(),
                                 nn.Flatten(), nn.Linear(8, 4))
        self.assertTrue(self.export(channels, (self.x, self.labels)).ok)

    def test_what_is_not_compared(self):
        class Straight(Classifier):
            def forward(self, x):
                return Doubled.apply(super().forward(x + torch.randn_like(x)))
        found = self.lost(Straight(), (self.x, self.labels),
                          "depends on random numbers", "not its backward()")
        frozen = Straight()
        frozen.out.requires_grad_(False)
        found = self.lost(frozen, (self.x, self.labels), "not its backward()",
                          compare=False)
        self.assertEqual(found.freeze, ["out.weight", "out.bias"])
        found = self.export(Classifier(), (self.x, self.labels), compare=False)
        self.assertEqual(str(found), self.path("model.onnx") +
                         ": not compared with PyTorch")

    def test_when_a_small_module_is_compared(self):
        module = Classifier()
        self.export(module, (self.x, self.labels))
        example = {"x": self.x, "labels": self.labels}

        def compare(**variables):
            with mock.patch.dict(os.environ, variables):
                return check_small(module, self.path("model.onnx"), example,
                                   F.cross_entropy, [])
        self.assertTrue(compare(SLURM_PROCID="0", SLURM_NTASKS="8").ok)
        self.assertTrue(compare(RANK="0", WORLD_SIZE="1").ok)
        self.assertIsNone(compare(RANK="0", WORLD_SIZE="2"))
        self.assertIsNone(compare(SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="2"))
        # A mistake of the comparison itself is not kept back.
        with mock.patch("zerograph.names.names_of", side_effect=KeyError), \
                self.assertRaises(KeyError):
            compare()

    def test_a_mask_beside_is_causal(self):
        class Both(nn.Module):
            def forward(self, x):
                mask = torch.ones(8, 8)
                return F.scaled_dot_product_attention(x, x, x, mask,
                                                      is_causal=True)
        with written_out(), self.assertRaisesRegex(RuntimeError, "is_causal"):
            Both()(torch.randn(1, 8, 8))


if __name__ == "__main__":
    main()
