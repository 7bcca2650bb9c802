"""Compiling PyTorch modules: what is wrong with a call is said, and at once."""

from unittest import mock

from package import need

need("torch", "onnx", "onnxscript")

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import Classifier, ExportCase  # noqa: E402
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class ExportMistakes(ExportCase):

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
                (lambda: zg.export(module, example, self.path("m.onnx"),
                                   F.cross_entropy, {"y": {1: "seq"}}),
                 r"dims \[1\] of 'y', and the example has 'x' of shape \[6, 8"),
                (lambda: zg.export(module, example, "no/m.onnx",
                                   F.cross_entropy), "no such folder")):
            with self.assertRaisesRegex(zg.InvalidArgument, part):
                call()

    def test_options_come_before_the_export(self):
        module, example = Classifier(), (self.x, self.labels)
        sgd = torch.optim.SGD(module.parameters(), 0.1)
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
                    ({"optimizer": torch.optim.SGD}, "write optimizer=\"sgd\""),
                    ({"optimizer": sgd}, "write optimizer=\"sgd\""),
                    ({"optimizer": torch.optim.Rprop},
                     "Rprop: there are sgd, adam")):
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
            with self.assertRaisesRegex(zg.Error, "left out.*trained: out.weight$"):
                zg.compile(module, (self.x, self.labels), F.cross_entropy)


if __name__ == "__main__":
    main()
