"""Compiling PyTorch modules whose loops are unrolled: recurrent layers and cells,
and recurrences that are written out, over more steps than a kernel reads at once."""

from package import need

need("torch", "onnx", "onnxscript")

import warnings  # noqa: E402

import torch  # noqa: E402
import zerograph as zg  # noqa: E402
from export_models import ExportCase, steps_as_pytorch  # noqa: E402
from support import main  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

STEPS = 12


class Layer(nn.Module):

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        sides = 2 if layer.bidirectional else 1
        size = layer.proj_size or layer.hidden_size
        self.head = nn.Linear(sides * size, 1)

    def forward(self, x):
        return self.head(self.layer(x)[0])


class Cell(nn.Module):
    """Takes steps of samples in rows, and puts what they made together."""

    def __init__(self, cell, dim):
        super().__init__()
        self.cell = cell
        self.dim = dim
        self.head = nn.Linear(cell.hidden_size, 1)

    def forward(self, x):
        state = torch.zeros(x.size(0), self.cell.hidden_size)
        states = []
        for step in range(x.size(1)):
            state = self.cell(x[:, step], state)
            states.append(state)
        together = torch.stack(states, self.dim)
        return self.head(together.movedim(self.dim, 1))


class Packed(nn.Module):
    """Takes the last states of sequences, or the means of what is padded again."""

    def __init__(self, layer, pads):
        super().__init__()
        self.layer = layer
        self.pads = pads
        self.head = nn.Linear(8, 1)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False)
        found, state = self.layer(packed)
        if self.pads:
            padded, _ = nn.utils.rnn.pad_packed_sequence(
                found, batch_first=True, total_length=x.size(1))
            return self.head(padded.sum(1) / lengths[:, None])
        return self.head((state[0] if isinstance(state, tuple) else state)[-1])


class Decay(nn.Module):
    """Is a recurrence without a product, as state-space models have it."""

    def __init__(self, size):
        super().__init__()
        self.keep = nn.Linear(5, size)
        self.add = nn.Linear(5, size)
        self.head = nn.Linear(size, 1)

    def forward(self, x):
        keep, add = torch.sigmoid(self.keep(x)), self.add(x)
        state, states = torch.zeros_like(add[:, 0]), []
        for step in range(x.size(1)):
            state = keep[:, step] * state + add[:, step]
            states.append(state.unsqueeze(1))
        return self.head(torch.cat(states, 1))


class ExportRecurrent(ExportCase):

    def recurs(self, *modules, **options):
        example = {"x": torch.randn(4, STEPS, 5), "goal": torch.randn(4, STEPS, 1)}
        for number, module in enumerate(modules):
            with self.subTest(number):
                self.trains_as_pytorch(module, F.mse_loss, example, 0.1,
                                       **options)

    # 8 numbers of 4 samples begin at multiples of 64 bytes, 7 do not.
    def test_layers(self):
        self.recurs(*(
            Layer(kind(5, size, batch_first=True, **options))
            for size in (8, 7) for kind, options in
            ((nn.LSTM, {"num_layers": 2}), (nn.GRU, {"bidirectional": True}),
             (nn.RNN, {}))))

    def test_steps_share_kernels(self):
        kernels = []
        for steps in (STEPS, 4 * STEPS):
            plan = zg.compile(Layer(nn.LSTM(5, 8, batch_first=True)),
                              (torch.randn(4, steps, 5), torch.randn(4, steps, 1)),
                              F.mse_loss)
            plan.save(self.path("layer.zgplan"))
            made = self.inspect(self.path("layer.zgplan"))["steps"]
            self.assertNotIn("copy", [one["op"] for one in made])
            kernels.append(len({one.get("kernel") for one in made}))
        self.assertLess(kernels[1] - kernels[0], STEPS)

    def test_cells(self):
        self.recurs(*(Cell(nn.GRUCell(5, size), dim)
                      for size in (8, 7) for dim in (0, 1, 2)))

    def test_packed_sequences(self):
        """Lengths are inputs, in any order and others in each step."""
        for kind, sides, pads in ((nn.LSTM, 2, False), (nn.LSTM, 1, True),
                                  (nn.GRU, 1, False), (nn.RNN, 2, False)):
            with self.subTest(kind=kind.__name__, pads=pads):
                module = Packed(kind(5, 8, 2, batch_first=True,
                                     bidirectional=sides == 2), pads)
                batches = [{"x": torch.randn(4, STEPS, 5),
                            "lengths": torch.tensor(lengths),
                            "goal": torch.randn(4, 1)}
                           for lengths in ([12, 3, 7, 1], [2, 12, 12, 5])]
                self.goes_as_pytorch(module, batches)

    def goes_as_pytorch(self, module, batches):
        plan = zg.compile(module, batches[0], F.mse_loss, optimizer="sgd", lr=0.1)
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        with zg.Trainer(plan) as trainer:
            for batch in batches * 2:
                steps_as_pytorch(self, trainer, module, optimizer, batch, F.mse_loss)

    def test_projections(self):
        """No operator has them: they are written out."""
        layers = [nn.LSTM(5, 8, batch_first=True, proj_size=3),
                  nn.LSTM(5, 8, 2, batch_first=True, proj_size=3, bias=False,
                          bidirectional=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch says once that it is slow
            layers[0](torch.randn(1, 1, 5))
        self.recurs(*(Layer(one) for one in layers))

    def test_projections_that_are_refused(self):
        packed = Packed(nn.LSTM(5, 16, batch_first=True, proj_size=8), False)
        x = torch.randn(4, STEPS, 5)
        with self.assertRaisesRegex(zg.Error, "proj_size of a packed sequence.*padded"):
            zg.compile(packed, {"x": x, "lengths": torch.tensor([3, 1, 2, 4]),
                                "goal": torch.randn(4, 1)}, F.mse_loss)
        layer = Layer(nn.LSTM(5, 8, batch_first=True, proj_size=3))
        with self.assertRaisesRegex(zg.Error, "steps that may vary.*Pad"):
            self.export(layer, {"x": x, "goal": torch.randn(4, STEPS, 1)},
                        F.mse_loss, dynamic={"x": {1: "steps"}})

    def test_recurrences(self):
        self.recurs(Decay(8), Decay(7))

    def test_what_backward_computes_again(self):
        module = Layer(nn.LSTM(5, 8, batch_first=True))
        self.recurs(module, recompute="units")
        self.recurs(module, zero=3, ranks=2)


if __name__ == "__main__":
    main()
