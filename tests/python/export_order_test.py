"""Compiling PyTorch modules with functions along rows that no exporter writes: of
the order of elements, and of all elements up to each."""

from package import need

need("torch", "onnx", "onnxscript")

import math  # noqa: E402

import torch  # noqa: E402
from function_case import Each, FunctionCase  # noqa: E402
from support import main  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from zerograph._functions import WrittenFunctions  # noqa: E402

TENTHS = torch.tensor([0.0, 0.3, 0.9])
ORDER = {
    "median": lambda x: x.median() * x,
    "median_of_rows": lambda x: torch.median(x, -1, keepdim=True).values,
    "median_of_samples": lambda x: x.median(0).values.expand(len(x), 4),
    "nanmedian": lambda x: torch.where(x > 0.2, x, math.nan).nanmedian() * x,
    "kthvalue": lambda x: torch.kthvalue(x, 2).values.unsqueeze(1),
    "quantile": lambda x: x.quantile(0.4) * torch.quantile(
        x, TENTHS, -1, interpolation="midpoint").transpose(0, 1),
    "nanquantile": lambda x: torch.where(x > -0.1, x, math.nan).nanquantile(
        0.7, 0, keepdim=True).nan_to_num().expand(len(x), 4),
    "cumprod": lambda x: x.cumprod(-1) + torch.cumprod(x, 1, dtype=x.dtype),
    # The sums up to the first ones are nothing beside the last.
    "logcumsumexp": lambda x: torch.logcumsumexp(x + 60 * torch.arange(4), -1),
    "cummax": lambda x: x.cummax(-1).values * torch.cummax(x.flip(1), 1).indices,
    "cummin": lambda x: torch.cummin(x, 1).values + x.cummin(-1).indices,
    "searchsorted": lambda x: x * torch.searchsorted(
        x.sort(-1).values, x.roll(1, 0), right=True),
    "bucketize": lambda x: x * torch.bucketize(x, TENTHS),
}


class ExportOrder(FunctionCase):

    def setUp(self):
        super().setUp()
        self.rows, self.y = torch.randn(6, 4), torch.randn(6)

    def test_functions(self):
        self.same(Each(ORDER, 4), (self.rows, self.y))

    def test_the_older_exporter(self):
        self.same(Each(ORDER, 4, older=True), (self.rows, self.y))

    def test_trains_as_pytorch(self):
        self.trains_as_pytorch(Each(ORDER, 4), F.mse_loss,
                               {"x": self.rows, "labels": self.y}, rate=0.1)

    def test_sums_and_products_up_to_each(self):
        places = torch.linspace(-1.2, 1.2, 13)
        self.as_pytorch(lambda x: x.cumprod(0), places)
        self.as_pytorch(lambda x: x.logcumsumexp(0), 300 * places)

    def test_kinds_of_order(self):
        x, equal = torch.randn(3, 5, 4), torch.tensor([1.0, 2, 2, 0, 2, 2, -1])
        holes = torch.where(x > 0.5, math.nan, x)
        holes[0, 0] = math.nan
        for dim in 0, 1, -1:
            for keeps in False, True:
                for one in x, holes:
                    for name in "median", "nanmedian":
                        self.as_pytorch(lambda y: getattr(y, name)(dim, keeps)[0],
                                        one)
                    self.as_pytorch(lambda y: y.kthvalue(3, dim, keeps)[0], x)
                    for kind in "linear", "lower", "higher", "midpoint", "nearest":
                        for q in 0.3, TENTHS:
                            self.as_pytorch(lambda y: y.nanquantile(
                                torch.as_tensor(q).to(y), dim, keeps,
                                interpolation=kind), one)
                            self.as_pytorch(lambda y: torch.quantile(
                                y, torch.as_tensor(q).to(y), dim, keeps,
                                interpolation=kind), one)
        # Equal elements share the gradient of the median, or the last one has it.
        for function in (torch.median, torch.nanmedian,
                         lambda y: y.cummax(0).values,
                         lambda y: (-y).cummin(0).values,
                         lambda y: y.cummax(0).indices + y):
            self.as_pytorch(function, equal)
        for function in (lambda y: y.cummax(1).values, torch.median,
                         torch.nanmedian):
            self.as_pytorch(function, holes)
        numbers = torch.tensor([[3, 1, 1], [0, 5, 2]])
        with WrittenFunctions():
            self.assertEqual(numbers.median(), 1)
            self.assertEqual(numbers.median(1).values.tolist(), [1, 2])
            self.assertEqual(numbers.cummin(1).indices.tolist(),
                             [[0, 1, 2], [0, 0, 0]])

    def test_infinite_elements(self):
        """NaN is larger than infinity, and a sum that is infinite stays so."""
        behind = torch.tensor([math.nan, math.inf, 1, math.inf])
        below = torch.tensor([-math.inf, -math.inf, 1, 2])
        with WrittenFunctions():
            self.assertEqual(behind[[0, 1, 3]].nanmedian(), math.inf)
            self.assertEqual(tuple(behind[:3].kthvalue(2)), (math.inf, 1))
            self.assertEqual(behind.roll(1).median(0).indices, 1)
            with self.assertRaisesRegex(RuntimeError, "k is 5, and there are 4"):
                behind.kthvalue(5)
            self.assertEqual(behind.nanquantile(1.0, interpolation="lower"), math.inf)
            self.assertEqual(below.cummax(0).indices.tolist(), [0, 1, 2, 3])
            self.assertEqual(torch.tensor(3.0).cummin(0).values, 3)
            self.assertEqual(torch.tensor([False, True]).cummax(0).indices.tolist(),
                             [0, 1])
            self.assertEqual(below.logcumsumexp(0)[:3].tolist(),
                             [-math.inf, -math.inf, 1])
        self.as_pytorch(lambda x: torch.cat([x[:1], torch.full_like(x[:1], math.inf),
                                             x[1:]]).logcumsumexp(0),
                        torch.tensor([1.0, 2]))

    def test_places(self):
        steps = torch.tensor([-1.0, 0, 0, 1])
        values = torch.tensor([[-2.0, -1, 0], [0.5, 1, math.nan]])
        for right in False, True:
            for function in (
                    lambda: torch.searchsorted(steps, values, right=right),
                    lambda: torch.searchsorted(steps, 0.0, right=right),
                    lambda: torch.searchsorted(
                        values[:, :2].clone(), values,
                        side="right" if right else "left"),
                    lambda: torch.searchsorted(-steps, values, right=right,
                                               sorter=steps.argsort().flip(0)),
                    lambda: torch.bucketize(values, steps, right=right,
                                            out_int32=True)):
                expected = function()
                with WrittenFunctions():
                    found = function()
                self.assertEqual(found.dtype, expected.dtype)
                self.assertTrue(torch.equal(found, expected), (found, expected))

    def test_refusals(self):
        for name in "cumprod", "cummax", "cummin", "logcumsumexp":
            def called(x, function=getattr(torch, name)):
                found = function(x, 0)
                return found if isinstance(found, torch.Tensor) else found.values
            self.refused(called, f"{name} along a dim whose size may vary")


if __name__ == "__main__":
    main()
