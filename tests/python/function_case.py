"""A module that computes functions, and what the suites of functions that no
exporter writes share."""

import torch
import zerograph as zg
from export_models import ExportCase
from torch import nn
from torch.nn import functional as F
from zerograph._functions import WrittenFunctions


class Each(nn.Module):
    """Computes functions, each between parameters of its own: gradients say which
    is wrong."""

    def __init__(self, functions, *shape, older=False):
        super().__init__()
        self.functions, self.older = functions, older
        self.before = nn.ParameterDict({
            name: nn.Parameter(0.3 * torch.randn(shape)) for name in functions})
        self.after = nn.ParameterDict({
            name: nn.Parameter(torch.rand(())) for name in functions})

    def forward(self, x):
        assert not (self.older and torch.compiler.is_exporting())
        total = 0.0
        for name, function in self.functions.items():
            found = function(x + self.before[name]).flatten(1)
            total = total + self.after[name] * (found / (1 + found.abs())).mean(1)
        return total


def weighted(output, weights):
    return (output * weights).mean()


class FunctionCase(ExportCase):

    def same(self, module, example, loss=weighted):
        found = self.export(module, example, loss)
        self.assertTrue(found.ok, found)
        self.assertLess(max(found.errors.values()), 2e-5, found)

    def as_pytorch(self, function, *given):
        """Compares in float32, without a file, with PyTorch in float64."""
        values, gradients = [], []
        for kind in torch.float32, torch.float64:
            mine = [one.to(kind).requires_grad_() for one in given]
            with (WrittenFunctions() if kind is torch.float32 else
                  torch.enable_grad()):
                value = function(*mine)
            finite = torch.where(value.isfinite(), value, 0.0).flatten()
            weights = torch.linspace(0.5, 1.5, finite.numel()).to(kind)
            values.append(value.detach().double())
            gradients.append(torch.autograd.grad((finite * weights).sum(), mine))
        torch.testing.assert_close(*values, rtol=1e-5, atol=1e-5, equal_nan=True)
        for ours, theirs in zip(*gradients):
            torch.testing.assert_close(ours.double(), theirs, rtol=3e-5,
                                       atol=1e-5 * float(theirs.abs().max()))

    def refused(self, function, text, x=None):
        x = self.x.view(6, 2, 4) if x is None else x
        with self.assertRaisesRegex(zg.Error, text):
            self.export(Each({"one": function}, x.shape[-1]),
                        (x, torch.ones(len(x))), F.mse_loss)
