"""Compiling PyTorch modules with functions of tensors that exporters write
wrongly, or in operators that are products here; and examples that are refused."""

from package import need

need("torch", "onnx", "onnxscript")

import collections  # noqa: E402
import math  # noqa: E402
import typing  # noqa: E402

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import Classifier, ExportCase  # noqa: E402
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from zerograph._functions import WrittenFunctions  # noqa: E402

fft = torch.fft
WINDOW = torch.hann_window(8)


class Applied(nn.Module):
    """Applies a function to what it has computed."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.hidden = nn.Linear(24, 24)

    def forward(self, x):
        return self.function(self.hidden(x))


def parts(spectrum):
    return torch.cat([spectrum.real, spectrum.imag], -1)


def spectrum_of(x, **options):
    return torch.stft(x, 8, 4, return_complex=True, **options)


class Operator(nn.Module):
    """Is a layer of a Fourier neural operator, as they are written."""

    def __init__(self, modes=4):
        super().__init__()
        self.modes = modes
        self.up = nn.Linear(1, 3)
        self.weight = nn.Parameter(torch.rand(3, 3, modes, dtype=torch.cfloat))
        self.beside = nn.Conv1d(3, 3, 1)
        self.down = nn.Linear(3, 1)

    def forward(self, x):
        x = self.up(x).transpose(1, 2)
        found = fft.rfft(x)
        mixed = torch.zeros(x.size(0), 3, found.size(-1), dtype=torch.cfloat)
        mixed[:, :, :self.modes] = torch.einsum(
            "bix,iox->box", found[:, :, :self.modes], self.weight)
        x = F.gelu(fft.irfft(mixed, n=x.size(-1)) + self.beside(x))
        return self.down(x.transpose(1, 2))


class ExportTensors(ExportCase):

    def computes(self, *functions):
        x = torch.randn(4, 24)
        for number, function in enumerate(functions):
            with self.subTest(number):
                goal = torch.randn(function(x).shape)
                found = self.export(Applied(function), {"x": x, "goal": goal},
                                    F.mse_loss)
                self.assertTrue(found.ok, found)
                self.assertLess(max(found.errors.values()), 1e-4)

    def test_fourier_transforms(self):
        self.computes(
            lambda x: parts(fft.rfft(x, norm="ortho")),
            lambda x: parts(fft.ifft(torch.complex(x, x * x))),
            lambda x: fft.irfft(fft.rfft(x, n=600) * 0.5, n=600),
            lambda x: fft.irfft(fft.rfft(x), n=23, norm="forward"),
            lambda x: parts(fft.rfft2(x.view(-1, 4, 6))),
            lambda x: fft.fftshift(fft.fft(x).abs(), dim=-1))

    def test_complex_numbers(self):
        self.computes(
            lambda x: parts(torch.exp(1j * x) * 2j),
            lambda x: fft.irfft(fft.rfft(x)[..., :5], n=24),
            lambda x: parts(torch.where(x[..., :13] > 0, fft.rfft(x), 0)),
            lambda x: parts(fft.rfft(x)[..., [0, 2, 5]]),
            lambda x: parts(fft.rfft(x)[:, 1:3, None].squeeze(2)**2),
            lambda x: parts(F.pad(fft.rfft(x), (1, 2)).unsqueeze(1)),
            lambda x: parts(torch.log(fft.rfft(x) + 9)),
            lambda x: parts(torch.einsum("bi,bj->bij", fft.rfft(x),
                                         torch.polar(x.abs(), x))))

    def test_complex_parameters(self):
        grid = torch.linspace(0, 1, 12).view(1, -1, 1).expand(4, -1, 1)
        self.trains_as_pytorch(
            Operator(), F.mse_loss,
            {"x": torch.randn(4, 12, 1) + grid, "y": torch.randn(4, 12, 1)},
            rate=0.1)

    def test_short_transforms(self):
        self.computes(
            lambda x: spectrum_of(x, window=WINDOW).abs(),
            lambda x: torch.view_as_real(spectrum_of(
                x, window=torch.hamming_window(8), center=False)),
            lambda x: torch.istft(spectrum_of(x, window=WINDOW) * 0.5, 8, 4,
                                  window=WINDOW, length=24),
            lambda x: torch.istft(
                spectrum_of(x, win_length=6, window=WINDOW[:6] + 1,
                            normalized=True), 8, 4,
                win_length=6, window=WINDOW[:6] + 1, normalized=True))

    def test_numbers_and_integers(self):
        self.computes(lambda x: x * (1.0 - (x > 0).long()),
                      lambda x: x * (1 - (x > 0).long()),
                      lambda x: x * torch.add(0.3, x > 0, alpha=0.7))

    def test_means_over_all(self):
        self.computes(lambda x: x * x.mean(dim=None, keepdim=True),
                      lambda x: x / (9 + torch.sum(x, None)))

    def test_dims_that_stay(self):
        self.computes(lambda x: x.squeeze(1) + x.unsqueeze(1).squeeze((1, 2)),
                      lambda x: torch.squeeze(x.unsqueeze(0), dim=0))

    def test_masked_places(self):
        mask = torch.arange(24) % 3 == 0
        self.computes(
            lambda x: torch.zeros_like(x).masked_scatter(mask, x),
            lambda x: torch.masked_scatter(x, x > 0, 2 * x))

    def test_means_of_scattered_elements(self):
        places = torch.randint(0, 6, (4, 24))
        self.computes(
            lambda x: torch.full((4, 7), 2.0).scatter_reduce(
                1, places, x, "mean", include_self=False),
            lambda x: torch.scatter_reduce(x, 1, places, 2 * x, "mean"),
            lambda x: (2 * x).scatter_reduce_(1, places, x.flip(1), reduce="mean"),
            lambda x: torch.zeros(4, 7).scatter_reduce(1, places, x, "amax"))

    def test_distances_of_pairs(self):
        self.computes(lambda x: F.pdist(x.view(-1, 6)),
                      lambda x: torch.pdist(x[:, :8].reshape(8, -1), 1))

        def uniformity(output, _):
            return F.pdist(output).pow(2).mul(-2).exp().mean().log()
        self.trains_as_pytorch(Applied(F.tanh), uniformity,
                               {"x": torch.randn(5, 24), "none": torch.ones(5)})

    def test_stacks(self):
        self.computes(
            lambda x: torch.hstack([x, 2 * x]),
            lambda x: x[:, :2] * torch.hstack([x[0, :1], x[0, 2:3]]),
            lambda x: torch.vstack([x, x[0], 2 * x]),
            lambda x: torch.dstack([x, x.flip(1)]),
            lambda x: torch.column_stack([x, x[:, 0]]))

    def test_the_larger_of_numbers(self):
        part = torch.where(torch.arange(24) < 9, math.nan, 0.1)
        # Of equal ones each has half of the gradient.
        self.computes(lambda x: torch.fmax(x, x.flip(1)) + x.fmin(part),
                      lambda x: torch.fmax(part, x),
                      lambda x: torch.fmax(x, x.detach()))

    def test_means_of_whole_numbers(self):
        with WrittenFunctions():
            mean = torch.tensor([-1, 4]).scatter_reduce(
                0, torch.tensor([0]), torch.tensor([-2]), "mean")
        self.assertEqual(mean.tolist(), [-2, 4])

    def test_random_numbers(self):
        """They are others in each step, and are distributed as PyTorch's."""
        weights = torch.tensor([0.5, 0.2, 0.2, 0.1]).expand(1024, 4)
        draws = {
            "uniform": (lambda x: torch.empty_like(x).uniform_(-1, 3), 1, 7 / 3),
            "one": (lambda x: torch.multinomial(weights, 1), 0.9, 1.9),
            "many": (lambda x: weights.multinomial(3, True), 0.9, 1.9),
            "some": (lambda x: torch.multinomial(weights, 4), 1.5, 3.5),
            "order": (lambda x: torch.randperm(8), 3.5, 17.5)}

        class Drawing(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(()))

            def forward(self, x):
                found = {name: draw(x).float() for name, (draw, *_) in
                         draws.items()}
                return {"loss": self.scale * x.mean(), **found}

        metrics = {f"{name} {power}": lambda output, batch, name=name, power=power:
                   (output[name]**power).mean()
                   for name in draws for power in (1, 2)}
        metrics["first"] = lambda output, batch: output["order"][0]
        plan = zg.compile(Drawing(), {"x": torch.randn(128, 24)}, metrics=metrics)
        with zg.Trainer(plan, seed=3) as trainer:
            found = [trainer.step({"x": torch.randn(128, 24)}).metrics
                     for _ in range(6)]
        for name, (_, mean, square) in draws.items():
            for power, expected in ((1, mean), (2, square)):
                each = [one[f"{name} {power}"] for one in found]
                self.assertAlmostEqual(sum(each) / 6, expected,
                                       delta=0.06 * expected, msg=name)
                whole = name in ("some", "order")  # all that there are
                self.assertEqual(len(set(each)), 1 if whole else 6, name)
        self.assertGreater(len({one["first"] for one in found}), 2)

    def test_angles(self):
        self.computes(lambda x: torch.atan2(x, x.flip(-1)),
                      lambda x: fft.rfft(x).angle()[..., 1:-1])

        class Turned(nn.Module):
            def __init__(self):
                super().__init__()
                self.turn = nn.Parameter(torch.eye(2))

            def forward(self, x):
                x = x @ self.turn
                return torch.atan2(x[:, 0], x[:, 1]).mean()
        axes = torch.tensor([[1., 0], [0, 1], [-1, 0], [0, 0], [2, 1]])
        self.trains_as_pytorch(Turned(), None, {"x": axes}, rate=0.1)

    def test_convolutions_of_videos(self):
        module = nn.Sequential(nn.Conv3d(2, 4, (2, 3, 3), 2, bias=False),
                               nn.Tanh(), nn.Flatten())
        self.trains_as_pytorch(module, F.cross_entropy, {
            "input": torch.randn(4, 2, 2, 4, 4), "labels": self.labels[:4]})

    def test_strides(self):
        """They are of the memory, in which a tensor may have another order."""
        self.computes(
            lambda x: x.as_strided((len(x), 5, 8), (24, 4, 1)),
            lambda x: torch.as_strided((x * 2)[1:], (2, 9), (6, 1), 27),
            lambda x: (x * 2).view(-1, 4, 6).transpose(1, 2).as_strided(
                (len(x), 3, 11), (24, 1, 2)))

    def test_extremes_share_the_gradient(self):
        class Extremes(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.tensor([1.0, 3, 3, 0, 0]))

            def forward(self, x):
                both = self.weight.max() + self.weight.amax()
                return both * x.mean() - self.weight.min() * self.weight.amin()
        self.trains_as_pytorch(Extremes(), None, {"x": torch.ones(4, 2)})

    def test_padding_stays_where_integers_meet_fractions(self):
        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(8, 4, padding_idx=0)
                self.out = nn.Linear(4, 8, bias=False)
                self.out.weight = self.table.weight

            def forward(self, ids, mask):
                seen = 1.0 - (1.0 - mask)
                return self.out((self.table(ids) * seen.unsqueeze(-1)).mean(1))
        self.trains_as_pytorch(
            Masked(), example={"ids": torch.tensor([[0, 1], [2, 0], [3, 4]]),
                               "mask": torch.ones(3, 2, dtype=torch.int64),
                               "labels": torch.tensor([1, 0, 2])})

    def test_what_a_loss_gets(self):
        class Output(typing.NamedTuple):
            logits: torch.Tensor
            scale: torch.Tensor

        class Two(Classifier):
            def forward(self, x):
                return Output(super().forward(x), self.out.weight.abs().mean())
        self.trains_as_pytorch(
            Two(), lambda found, labels: F.cross_entropy(found[0], labels) *
            found.scale, rate=0.1)

        class Model(collections.OrderedDict):
            logits = property(lambda self: self["logits"])

        class Boxed(Classifier):
            def forward(self, x):
                return Model(logits=super().forward(x), boxes=x)
        self.export(Boxed(), (self.x, self.labels))
        with self.assertRaisesRegex(zg.InvalidArgument, "gets the model's logits"):
            self.export(Boxed(), (self.x, self.labels),
                        lambda found, labels: found.boxes.mean())

    def test_names_of_the_module(self):
        class Named(Classifier):
            def __init__(self):
                super().__init__()
                self.register_buffer("labels", torch.ones(4))
        with self.assertRaisesRegex(zg.InvalidArgument,
                                    "'labels' is called as a buffer"):
            self.export(Named(), (self.x, self.labels))

    def test_modules_that_are_refused(self):
        for module, text in (
                (torch.compile(Classifier()), "give its ._orig_mod"),
                (nn.DataParallel(Classifier()), "give its .module")):
            with self.assertRaisesRegex(zg.InvalidArgument, text):
                self.export(module, (self.x, self.labels))

    def test_hooks_of_gradients(self):
        module = Classifier()
        module.out.weight.register_post_accumulate_grad_hook(lambda _: None)
        self.lost(module, (self.x, self.labels),
                  "hooks change the gradients of out.weight")


if __name__ == "__main__":
    main()
