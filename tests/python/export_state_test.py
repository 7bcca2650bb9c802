"""Exporting PyTorch modules: statistics move as PyTorch's, and what is exported
stays as it was."""

import random
import warnings
from collections import deque

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

    def test_the_module_stays_as_it_was(self):
        class Changing(Classifier):
            """Changes a parameter, buffers and a count, in place and not."""
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(4))
                self.register_buffer("calls", torch.tensor(0.0))
                self.count = 0

            def forward(self, x):
                with torch.no_grad():
                    self.out.bias.mul_(0.9)
                y = super().forward(x)
                self.mean = 0.9 * self.mean + 0.1 * y.detach().mean(0)
                self.calls += 1
                self.count += 1
                self.last = y
                return y

        class Assigned(Classifier):
            def forward(self, x):
                self.hidden.weight.data.mul_(2)
                self.out.weight.data = self.out.weight.data / 2
                return super().forward(x)

        for module in Changing(), Assigned():
            before = {name: one.clone()
                      for name, one in module.state_dict().items()}
            attributes = set(vars(module))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    zg.export(module, (self.x, self.labels),
                              self.path("model.onnx"), F.cross_entropy)
                except zg.Error as error:
                    self.assertIn(".data of out.weight", str(error))
            for name, one in module.state_dict().items():
                self.assertTrue(torch.equal(one, before[name]), name)
            self.assertEqual(set(vars(module)), attributes)
            self.assertEqual(getattr(module, "count", 0), 0)

    def test_what_forward_logs_is_left_out(self):
        """An exporter's own numbers would stay in it, and keep the module from
        being copied and compared."""
        class Logging(Classifier):
            def __init__(self):
                super().__init__()
                self.losses, self.last = [0.5], deque([1.0], 2)
                self.of = {"largest": [], "kept": {1}}

            def forward(self, x):
                y = super().forward(x)
                self.losses.append(y.mean().item())
                self.last.append(y.sum().item())
                self.of["largest"].append(y.max().item())
                self.of["kept"].add(len(self.losses))
                self.of["mean"] = float(y.mean())
                return y
        module = Logging()
        self.assertEqual(self.warnings_of(module), [])
        self.assertEqual(module.losses, [0.5])
        self.assertEqual(list(module.last), [1.0])
        self.assertEqual(module.of, {"largest": [], "kept": {1}})

    def test_random_generators_stay_as_they_were(self):
        class Drawn(Classifier):
            def forward(self, x):
                scale = random.random() + np.random.rand()
                return super().forward(x * scale + torch.randn_like(x))

        def states():
            return (torch.get_rng_state().tolist(), random.getstate(),
                    np.random.get_state()[1].tolist())
        module = Drawn()
        before = states()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zg.export(module, (self.x, self.labels), self.path("model.onnx"),
                      F.cross_entropy)
            self.assertTrue(states() == before)
            zg.check(module, self.path("model.onnx"), (self.x, self.labels),
                     F.cross_entropy)
        self.assertTrue(states() == before)

    def test_a_lazy_module(self):
        module = nn.Sequential(nn.LazyLinear(6), nn.LazyBatchNorm1d(),
                               nn.LazyLinear(4))
        found = self.export(module, (self.x, self.labels))
        self.assertTrue(found.ok, found)
        self.assertFalse(module[1].running_mean.any())
        self.assertTrue(all(part.training for part in module.modules()))

    def test_a_module_that_its_first_run_makes(self):
        class Made(Classifier):
            made = False

            def forward(self, x):
                if not self.made:
                    self.last = nn.Linear(4, 4)
                    self.made = True
                return self.last(super().forward(x))
        module = Made()
        found = self.export(module, (self.x, self.labels))
        self.assertTrue(found.ok, found)
        self.assertIn("last.weight", found.errors)
        self.assertTrue(module.made)


if __name__ == "__main__":
    main()
