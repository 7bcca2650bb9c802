"""Algorithms that write into a live trainer, beside the same in PyTorch."""

import copy

from package import need

need("torch", "onnx", "onnxscript")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from support import Case, main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Writing(Case):

    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.module = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16),
                                    nn.Tanh(), nn.Linear(16, 4))
        self.x = torch.randn(10, 16, 8)
        self.labels = self.x[..., :4].argmax(-1)

    def batches(self):
        return zip(self.x, self.labels)

    def test_a_module(self):
        """A trainer takes a module's values, and gives them back."""
        other = copy.deepcopy(self.module)
        with torch.no_grad():
            for one in (*other.parameters(), *other.buffers()):
                one.add_(0.25 if one.is_floating_point() else 0)
        batch = next(self.batches())
        for options in {}, {"ranks": 2, "zero": 3, "precision": "bf16"}:
            losses = []
            for module in self.module, other:
                plan = zg.compile(module, batch, F.cross_entropy, **options)
                with zg.Trainer(plan) as trainer:
                    trainer.load_from(other)
                    taken = copy.deepcopy(self.module)
                    trainer.load_into(taken)
                    for name, one in other.state_dict().items():
                        self.assertTrue(torch.equal(taken.state_dict()[name],
                                                    one), name)
                    losses.append([trainer.step(batch) for _ in range(2)])
            self.assertEqual(*losses)
        with zg.Trainer(plan) as trainer:
            before = trainer.state_dict()
            with self.assertRaisesRegex(zg.InvalidArgument,
                                        r"0.weight of shape \[16, 8\], "
                                        r"expected \[16, 7\]"):
                trainer.load_from(nn.Sequential(nn.Linear(7, 16),
                                                *list(other)[1:]))
            for name, array in trainer.state_dict().items():
                np.testing.assert_array_equal(array, before[name])
            # Tensors of PyTorch are arrays too.
            trainer.load_state_dict({name: torch.tensor(array)
                                     for name, array in before.items()})

    def test_buffers_that_are_constants(self):
        class Masked(nn.Linear):
            def __init__(self, kind):
                super().__init__(8, 4)
                self.register_buffer("mask", torch.ones(4, 8, dtype=kind))

            def forward(self, x):
                return F.linear(x, self.weight * self.mask, self.bias)

        batch = next(self.batches())
        for kind in torch.float32, torch.bool:
            module = nn.Sequential(Masked(kind), nn.BatchNorm1d(4))
            plan = zg.compile(module, batch, F.cross_entropy, optimizer="sgd")
            with zg.Trainer(plan) as trainer:
                trainer.load_from(module)
                module(batch[0])  # BatchNorm counts batches
                module[0].mask[0] = 0
                if kind is torch.bool:
                    with self.assertRaisesRegex(zg.InvalidArgument,
                                                "constants of the plan: 0.mask"):
                        trainer.load_from(module)
                else:
                    trainer.load_from(module)
                    loss = F.cross_entropy(module(batch[0]), batch[1])
                    self.assertAlmostEqual(trainer.step(batch), loss.item(), 5)
                with self.assertRaisesRegex(zg.InvalidArgument, "found a dict"):
                    trainer.load_from({})

    def test_clamped_weights(self):
        """A critic whose weights are clamped after each step (WGAN)."""
        critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        signs = torch.tensor([1.0, -1.0]).repeat(8)[:, None]

        def loss(score, sign):
            return (score * sign).mean()

        plan = zg.compile(critic, (self.x[0], signs), loss, ranks=2, zero=2,
                          lr=0.01)
        optimizer = torch.optim.AdamW(critic.parameters(), 0.01)
        with zg.Trainer(plan) as trainer:
            for x in self.x:
                ours = trainer.step((x, signs))
                trainer.load_state_dict({
                    name: array.clip(-0.1, 0.1)
                    for name, array in trainer.state_dict().items()})
                optimizer.zero_grad()
                theirs = loss(critic(x), signs)
                theirs.backward()
                optimizer.step()
                with torch.no_grad():
                    for one in critic.parameters():
                        one.clamp_(-0.1, 0.1)
                # It is the difference of means that are much larger.
                np.testing.assert_allclose(ours, theirs.item(), rtol=2e-5,
                                           atol=2e-6)
        self.assertEqual(max(one.abs().max() for one in critic.parameters()),
                         np.float32(0.1))

    def test_sharpness_aware(self):
        """Gradients of where the loss is higher update the parameters (SAM)."""
        module = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
        rho = 0.05
        plan = zg.compile(module, next(self.batches()), F.cross_entropy,
                          accumulate=2, ranks=2, zero=2, lr=0.01,
                          weight_decay=0.1, dump_gradients=True)
        optimizer = torch.optim.AdamW(module.parameters(), 0.01,
                                      weight_decay=0.1)
        with zg.Trainer(plan) as trainer:
            for x, labels in self.batches():
                weights = trainer.state_dict()
                trainer.accumulate((x, labels))
                gradients = trainer.gradients()
                trainer.discard()
                norm = np.sqrt(sum((one ** 2).sum()
                                   for one in gradients.values()))
                trainer.load_state_dict({
                    name: array + rho * gradients[name] / norm
                    for name, array in weights.items()})
                trainer.accumulate((x, labels))
                trainer.load_state_dict(weights)
                ours = trainer.update()

                parameters = list(module.parameters())
                first = torch.autograd.grad(F.cross_entropy(module(x), labels),
                                            parameters)
                norm = torch.sqrt(sum((one ** 2).sum() for one in first))
                with torch.no_grad():
                    begin = [one.clone() for one in parameters]
                    for one, gradient in zip(parameters, first):
                        one.add_(rho * gradient / norm)
                optimizer.zero_grad()
                theirs = F.cross_entropy(module(x), labels)
                theirs.backward()
                with torch.no_grad():
                    for one, value in zip(parameters, begin):
                        one.copy_(value)
                optimizer.step()
                np.testing.assert_allclose(ours, theirs.item(), rtol=2e-5)
            self.assertEqual(trainer.steps, len(self.x))
            trained = copy.deepcopy(module)
            trainer.load_into(trained)
            for ours, theirs in zip(trained.parameters(), module.parameters()):
                torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    main()
