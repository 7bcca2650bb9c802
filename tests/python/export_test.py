"""Exporting PyTorch modules: nothing is lost, and a step is PyTorch's."""

from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import (  # noqa: E402
    Buffered, Causal, Clamped, Classifier, ExportCase, FrozenNorm,
    LeftPadded, Likelihood, Namesakes, Offsets, Open, OwnLoss,
    Pictures, Rescaled, Scaled, Tied, Unknown, Words, Wrapper)
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Export(ExportCase):

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
        for each in F.cross_entropy, (lambda scores, labels, reduction: F.nll_loss(
                scores.log_softmax(1), labels, reduction=reduction)):
            found = self.export(
                Classifier(), (self.x, self.labels), lambda scores, labels: each(
                    scores, labels, reduction="none").sum() / labels.shape[0])
            self.assertTrue(found.ok, found)
        for module, variance in ((Classifier(), lambda scores: scores.exp()),
                                 (Classifier(), lambda scores: scores[:, 0]**2)):
            found = self.export(
                module, (self.x, torch.randn(6, 4)),
                lambda scores, y: nn.GaussianNLLLoss(full=True, eps=0.5)(
                    scores, y, variance(scores)))
            self.assertTrue(found.ok, found)
        found = self.export(Wrapper(Open()), {"x": self.x, "y": self.labels},
                            F.cross_entropy)
        self.assertTrue(found.ok, found)

        class Masked(Classifier):
            def forward(self, x, mask=None, scale=1.0):
                return super().forward(x if mask is None else x * mask) * scale
        found = self.export(Masked(), (self.x, self.labels), F.cross_entropy)
        self.assertTrue(found.ok, found)
        found = self.export(Masked(), (self.x, torch.rand_like(self.x),
                                       self.labels), F.cross_entropy)
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

    def test_a_gradient_that_float64_has_not(self):
        """Gradients are compared with those of float32 then."""
        class Rooted(Classifier):
            def forward(self, x):
                y = super().forward(x)
                return y + (y * 0).sqrt() if y.dtype == torch.float64 else y

        found = self.export(Rooted(), (self.x, self.labels))
        self.assertTrue(found.compared and found.ok, found)

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

    def test_an_input_of_one_row_beside_samples(self):
        class Masked(Classifier):
            def forward(self, x, mask):
                return super().forward(x * mask)
        mask = torch.ones(1, 8)
        self.export(Masked(), (self.x, mask, self.labels))
        plan = zg.compile(Masked(), (self.x, mask, self.labels),
                          F.cross_entropy, ranks=2)
        self.assertEqual(plan.samples, 6)

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
            with self.assertRaisesRegex(zg.InvalidArgument,
                                        "no tensors for hidden.*one like it"):
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

    def test_whether_all_is_finite(self):
        def asks(answer):
            class Asking(Classifier):
                def forward(self, x):
                    y = super().forward(x)
                    return answer(y, torch.isfinite(y))
            return Asking()
        for module in (
                asks(lambda y, each: 2 * y if each.all() else y),
                asks(lambda y, each: y if not each.all() else 2 * y),
                asks(lambda y, each: y * each.all().float()),
                asks(lambda y, each: torch.where(~each.all(), 0.0, y)),
                asks(lambda y, each: torch.where(each.all().logical_not(),
                                                 0.0, y))):
            found = self.export(module, (self.x, self.labels))
            self.assertTrue(found.ok, found)


if __name__ == "__main__":
    main()
