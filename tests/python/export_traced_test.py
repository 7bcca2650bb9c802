"""Compiling PyTorch modules that take gradients themselves."""

from package import need

need("torch", "onnx", "onnxscript")

from unittest import mock  # noqa: E402

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import Classifier, ExportCase  # noqa: E402
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

grad = torch.autograd.grad


class Burgers(nn.Module):
    """Is a physics-informed network, with a viscosity that is trained."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8),
                                 nn.SiLU(), nn.Linear(8, 1))
        self.viscosity = nn.Parameter(torch.tensor(0.01))

    def forward(self, points, values):
        points = points.requires_grad_(True)
        u = self.net(points)
        first, = grad(u.sum(), points, create_graph=True)
        second, = grad(first[:, 0].sum(), points, create_graph=True)
        rest = first[:, 1] + u[:, 0] * first[:, 0] - self.viscosity * second[:, 0]
        return (rest**2).mean() + F.mse_loss(u, values)


class Critic(nn.Module):
    """Has the gradient penalty of a Wasserstein GAN."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 4, 3, 2, 1, groups=2), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(4, 4, 3, 2), nn.ELU(), nn.AvgPool2d(2),
            nn.InstanceNorm2d(4), nn.Conv2d(4, 4, 2, padding=1), nn.GELU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 1))

    def forward(self, real, fake, share):
        share = share.view(-1, 1, 1, 1)
        x = (share * real + (1 - share) * fake).requires_grad_(True)
        slope, = grad(self.net(x).sum(), x, create_graph=True)
        size = slope.flatten(1).norm(dim=1)
        return ((self.net(fake) - self.net(real)).mean() +
                10 * ((size - 1)**2).mean())


class Energy(nn.Module):
    """Fits forces, which are the gradient of an energy, by torch.func."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 8), nn.Softplus(),
                                 nn.LayerNorm(8, bias=False),
                                 nn.Linear(8, 1, bias=False))

    def forward(self, places, forces):
        def energy(place):
            return self.net(place).squeeze(-1)
        found = torch.func.vmap(torch.func.grad(energy))(places)
        return F.mse_loss(-found, forces)


class Walk(nn.Module):
    """Moves samples along gradients that have no graph."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x, start):
        for _ in range(2):
            start = start.detach().requires_grad_(True)
            start = start - 0.1 * grad(self.net(start).sum(), start)[0]
        return self.net(x).mean() - self.net(start).mean()


class Inner(nn.Module):
    """Takes a step of its own before the loss, as MAML does."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 4) / 3)

    def forward(self, x, labels, others, other_labels):
        first = F.cross_entropy(x @ self.weight, labels)
        step, = grad(first, self.weight, create_graph=True)
        return F.cross_entropy(others @ (self.weight - 0.5 * step), other_labels)


class ExportTraced(ExportCase):

    def test_trains_as_pytorch(self):
        draw = torch.randn
        for module, example in (
                (Burgers(), {"points": draw(8, 2), "values": draw(8, 1)}),
                (Critic(), {"real": draw(4, 2, 7, 8), "fake": draw(4, 2, 7, 8),
                            "share": torch.rand(4)}),
                (Energy(), {"places": draw(6, 6), "forces": draw(6, 6)}),
                (Walk(), {"x": draw(6, 3), "start": draw(6, 3)}),
                (Inner(), {"x": self.x, "labels": self.labels,
                           "others": draw(6, 8), "other_labels": self.labels})):
            with self.subTest(type(module).__name__):
                self.trains_as_pytorch(module, None, example, rate=0.01)

    def test_batches_of_another_size(self):
        module = Burgers()
        plan = zg.compile(module, {"points": torch.randn(4, 2),
                                   "values": torch.randn(4, 1)},
                          optimizer="sgd", lr=0, micro_batch=7)
        batch = {"points": torch.randn(7, 2), "values": torch.randn(7, 1)}
        with zg.Trainer(plan) as trainer:
            self.assertAlmostEqual(trainer.step(batch),
                                   float(module(**batch).detach()), 5)

    def test_a_loss_that_takes_gradients(self):
        module = Classifier()

        def penalized(scores, labels):
            found = F.cross_entropy(scores, labels)
            slope, = grad(found, module.out.weight, create_graph=True)
            return found + slope.norm()
        self.trains_as_pytorch(module, penalized, rate=0.05)

    def test_what_cannot_be_traced_is_named(self):
        with (mock.patch("zerograph._traced.make_fx",
                         side_effect=RuntimeError("no sizes\nand more")),
              self.assertRaisesRegex(zg.Error, "PyTorch cannot trace.*: no sizes. "
                                     "Take them by .*create_graph=True")):
            zg.compile(Walk(), {"x": torch.randn(4, 3), "start": torch.randn(4, 3)})


if __name__ == "__main__":
    main()
