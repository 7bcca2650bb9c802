"""Compiling PyTorch modules that take gradients themselves."""

from package import need

need("torch", "onnx", "onnxscript")

import warnings  # noqa: E402
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


class Slopes(nn.Module):
    """Has a penalty of its Jacobian, which is made in place, and a tensor that is
    no buffer."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        self.scale = torch.tensor(2.0)

    def forward(self, x, values):
        slopes = torch.func.vmap(torch.func.jacrev(self.net))(x)
        return self.scale * F.mse_loss(self.net(x), values) + (slopes**2).mean()


class Forward(nn.Module):
    """Takes the derivative of a gradient along a direction, forward."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x, direction):
        slopes = torch.func.grad(lambda x: self.net(x).sum())
        _, change = torch.func.jvp(slopes, (x,), (direction,))
        return (change**2).mean()


class Held(nn.Module):
    """Holds a factor of what gradients are taken of."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        x = x.requires_grad_(True)
        found = self.net(x)
        slope, = grad((found * found.detach()).sum(), x, create_graph=True)
        assert slope.requires_grad and not slope.detach().requires_grad
        return (slope**2).mean()


class Counted(Held):
    """Makes a number of Python of how many samples there are."""

    def forward(self, x):
        return super().forward(x) + self.net(x).sum() / len(x)


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
                (Slopes(), {"x": draw(6, 3), "values": draw(6, 2)}),
                (Held(), {"x": draw(6, 3)}),
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

    def test_files_for_one_number_of_samples(self):
        draw = torch.randn
        for module, example in (
                (Counted(), {"x": draw(6, 3)}),
                (Forward(), {"x": draw(6, 3), "direction": draw(6, 3)}),
                (Energy(), {"places": draw(6, 6), "forces": draw(6, 6)})):
            found = self.export_with_warnings(module, example)
            self.assertIn("the file is for as many as the example has",
                          " ".join(found))
            with self.assertRaisesRegex(zg.Error, "6"):
                zg.compile(module, example, optimizer="sgd", micro_batch=4)
        with self.assertRaisesRegex(zg.Error, "at least two samples"):
            zg.compile(Counted(), {"x": draw(1, 3)}, optimizer="sgd")

    def export_with_warnings(self, module, example):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = zg.export(module, example, self.path("model.onnx"))
        self.assertTrue(found.ok, found)
        return [str(one.message) for one in caught]

    def test_random_numbers_within(self):
        class Drawn(Held):
            def forward(self, x):
                return super().forward(x * torch.rand(len(x), 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = zg.export(Drawn(), {"x": torch.randn(6, 3)},
                              self.path("model.onnx"))
        self.assertRegex(" ".join(found.lost), "depends on random numbers")

    def test_statistics_that_move(self):
        class Moving(Held):
            def __init__(self):
                super().__init__()
                self.net.insert(1, nn.BatchNorm1d(8))
        with self.assertRaisesRegex(zg.Error, "'net.1' is a BatchNorm whose"):
            zg.compile(Moving(), {"x": torch.randn(6, 3)}, optimizer="sgd")

    def test_a_loss_that_takes_gradients(self):
        module = Classifier()

        def penalized(scores, labels):
            found = F.cross_entropy(scores, labels)
            slope, = grad(found, module.out.weight, create_graph=True)
            return found + slope.norm()
        self.trains_as_pytorch(module, penalized, rate=0.05)
        self.assertRegex("; ".join(self.warnings_of(module, loss=penalized,
                                                    accumulate=2)),
                         "not the mean of its halves' losses")

    def test_dropout_that_is_turned_off(self):
        class Dropped(Held):
            def __init__(self):
                super().__init__()
                self.net.insert(2, nn.Dropout(0.5))
        x = torch.randn(6, 3)
        module = Dropped()
        plan = zg.compile(module, {"x": x}, optimizer="sgd", lr=0, dropout=0)
        with zg.Trainer(plan) as trainer:
            self.assertAlmostEqual(trainer.step({"x": x}),
                                   float(module.eval()(x).detach()), 5)

    def test_what_cannot_be_traced_is_named(self):
        with (mock.patch("zerograph._traced.make_fx",
                         side_effect=RuntimeError("no sizes\nand more")),
              self.assertRaisesRegex(zg.Error, "PyTorch cannot trace.*: no sizes. "
                                     ".*create_graph=True")):
            zg.compile(Walk(), {"x": torch.randn(4, 3), "start": torch.randn(4, 3)})


if __name__ == "__main__":
    main()
