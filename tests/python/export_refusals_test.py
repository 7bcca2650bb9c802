"""Compiling PyTorch modules: what is refused, of a call and of a module, and when
it is."""

from unittest import mock

from package import need

need("torch", "onnx", "onnxscript")

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import Classifier, ExportCase  # noqa: E402
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class ExportRefusals(ExportCase):

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
                                    optimizer=module), "is of type Classifier"),
                (lambda: zg.Trainer(module), "found a Classifier"),
                (lambda: zg.export(module, example, self.path("m.onnx"),
                                   F.cross_entropy, {"y": {1: "seq"}}),
                 r"dims \[1\] of 'y'; expected inputs .* it has 'x' of shape \[6, 8"),
                (lambda: zg.export(module, example, "no/m.onnx",
                                   F.cross_entropy), "no such folder")):
            with self.assertRaisesRegex(zg.InvalidArgument, part):
                call()

    def test_options_come_before_the_export(self):
        module, example = Classifier(), (self.x, self.labels)
        other = torch.optim.RMSprop(module.parameters(), 0.1)
        with mock.patch("zerograph._export.export_and_compare") as exported:
            for options, part in (
                    ({"zero": 5}, "zero is '5', expected 0 to 3"),
                    ({"micro_batc": 2}, "did you mean micro_batch"),
                    ({"offload_param": "cpu"}, "needs zero 3"),
                    ({"learning_rate": 0.1}, "here it is lr"),
                    ({"max_grad_norm": 1}, "'max_grad_norm'.*it is clip_norm"),
                    ({"dtype": torch.float16}, "'dtype'.*it is precision"),
                    ({"world_size": 2}, "'world_size'.*it is ranks"),
                    ({"seed": 1}, "'seed'.*zg.Trainer"),
                    ({"epochs": 3}, "'epochs'.*trainer.step"),
                    ({"precision": torch.bfloat16}, "write precision=\"bf16\""),
                    ({"optimizer": torch.optim.SGD}, "as optimizer=\"sgd\""),
                    ({"optimizer": other}, "RMSprop: a plan has SGD, Adam"),
                    ({"optimizer": "rprop"}, "rprop.*sgd")):
                with self.assertRaisesRegex(zg.InvalidArgument, part):
                    zg.compile(module, example, F.cross_entropy, **options)
            with self.assertRaisesRegex(zg.InvalidArgument, "zero"):
                zg.advise(module, "h100-sxm", example, F.cross_entropy, zero="x")
            exported.assert_not_called()

    def test_an_exporter_that_leaves_parameters_out(self):
        module, names_of = Classifier(), zg.names.names_of
        module.spare = nn.Linear(2, 2)
        module.out.bias.requires_grad_(False)

        def found(model, path):
            return names_of(model, path)[0], list(missing)
        with mock.patch("zerograph.names.names_of", found):
            missing = ["spare.weight", "out.bias"]
            zg.compile(module, (self.x, self.labels), F.cross_entropy)
            missing.append("out.weight")
            with self.assertRaisesRegex(zg.Error, "left out.*: out.weight$"):
                zg.compile(module, (self.x, self.labels), F.cross_entropy)

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
            with self.assertRaisesRegex(zg.Error, "by the values of its inputs.*"
                                        "export_refusals_test.py:.*x.sum.*"
                                        "torch.where"):
                self.export(module, (self.x, self.labels))

        def counted(output, labels):
            return F.cross_entropy(output[labels > 0], labels[labels > 0])

        with self.assertRaisesRegex(zg.Error, "the loss.*ignore_index"):
            self.export(Classifier(), (self.x, self.labels), counted)
        averaging = nn.Sequential(nn.Linear(8, 4),
                                  nn.BatchNorm1d(4, momentum=None))
        with self.assertRaisesRegex(zg.Error, "'1' is a BatchNorm with "
                                    "momentum=None, expected a number"):
            self.export(averaging, (self.x, self.labels))

        class Kept(nn.Sequential):  # its statistics do not move
            def train(self, mode=True):
                super().train(mode)
                self[1].eval()
                return self

        for kept in Kept(*averaging), Kept(*averaging).train():
            self.assertTrue(self.export(kept, (self.x, self.labels)).ok)
        self.assertTrue(self.export(Unused(), (self.x, self.labels)).ok)
        zg.compile(Unused(), example=(self.x, self.labels),
                   loss=F.cross_entropy)
        with self.assertWarnsRegex(UserWarning, "in evaluation mode"):
            zg.export(Classifier().eval(), (self.x, self.labels),
                      self.path("m.onnx"), F.cross_entropy)

    def test_what_pytorch_cannot_export(self):
        class Incomplete(Classifier):
            def forward(self, x):
                y = super().forward(x).exp()
                return torch.special.gammainc(torch.ones(4), y)
        with self.assertRaises(zg.Error) as caught:
            self.warnings_of(Incomplete())
        text = str(caught.exception)
        self.assertIn("either exporter: No ONNX function found for "
                      "prims.igamma", text)
        self.assertNotIn("\x1b", text)
        self.assertLess(len(text.splitlines()), 5, text)

    def test_gradients_that_forward_takes(self):
        for take in (lambda y: y.sum().backward(),
                     lambda y: torch.autograd.backward(y.sum())):
            class Taken(Classifier):
                def forward(self, x):
                    y = super().forward(x)
                    take(y)
                    return super().forward(x)
            module = Taken()
            with self.assertRaisesRegex(zg.Error, "calls backward\\(\\), which changes"):
                self.warnings_of(module)
            self.assertTrue(all(one.grad is None
                                for one in module.parameters()))


if __name__ == "__main__":
    main()
