"""Exporting PyTorch modules: statistics move as PyTorch's, and what is exported
stays as it was."""


from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (  # noqa: E402
    Classifier, ExportCase, Pictures, Scaled, Unknown)
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class ExportState(ExportCase):

    def test_parameters_that_are_given_other_data(self):
        class Assigned(Classifier):
            def forward(self, x):
                self.out.weight.data = self.out.weight.data / 2
                return super().forward(x)
        with self.assertRaisesRegex(zg.Error, "assigns .data of out.weight"):
            self.warnings_of(Assigned())

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


if __name__ == "__main__":
    main()
