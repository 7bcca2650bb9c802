"""Functions along a dim whose results are of all elements up to each, in operations
that exporters write."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ._library import Error
from ._parts import both, in_float32, is_nan


def size_of(input: torch.Tensor, dim: int, name: str) -> int:
    """Returns the size of a dim, which must be fixed."""
    size = input.size(dim) if input.ndim else 1
    if isinstance(size, torch.SymInt):
        raise Error(f"{name} along a dim whose size may vary, as that of "
                    "samples: zg.export writes it out for a fixed size alone "
                    "(zg.compile with micro_batch=)")
    return int(size)  # it is a tensor in the older exporter


def _scanned(value: torch.Tensor, dim: int, name: str, combine: Callable,
             nothing: float) -> torch.Tensor:
    """Combines all elements up to each, with `nothing` before the first: each step
    takes what is twice as far before."""
    size, step = size_of(value, dim, name), 1
    while step < size:
        first = torch.full_like(value.narrow(dim, 0, step), nothing)
        before = value.narrow(dim, 0, size - step)
        value, step = combine(value, torch.cat([first, before], dim)), 2 * step
    return value


def _product(input: torch.Tensor, dim: int, *,
             dtype: torch.dtype | None = None) -> torch.Tensor:
    """Is torch.cumprod."""
    dtype = dtype or (input.dtype if input.is_floating_point() else torch.int64)
    return _scanned(input.to(dtype), dim, "torch.cumprod", torch.mul, 1)


def _logarithm_of_sum(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Is torch.logaddexp, whose terms are at most 1. Where the larger one is
    infinite it is the result."""
    top = torch.maximum(one, other).detach()
    finite = top.abs() < math.inf
    known = torch.where(finite, top, 0.0)
    terms = [(torch.where(finite, value, 0.0) - known).exp()
             for value in (one, other)]
    return torch.where(finite, known + (terms[0] + terms[1]).log(), top)


def _logarithm(input: torch.Tensor, dim: int) -> torch.Tensor:
    """Is torch.logcumsumexp. That of exporters has one maximum for all elements,
    and is -inf where those up to there are much smaller."""
    return _scanned(input, dim, "torch.logcumsumexp", _logarithm_of_sum, -math.inf)


def _extreme(name: str, combine: Callable, largest: bool) -> Callable:
    """Returns torch.cummax or torch.cummin, whose gradient goes to the last one of
    equal elements. NaN stays."""
    def called(input, dim):
        full, fixed = f"torch.{name}", input.detach()
        if fixed.dtype == torch.bool:
            fixed = fixed.to(torch.int32)
        if fixed.is_floating_point():
            least, most = -math.inf, math.inf
        else:
            least, most = torch.iinfo(fixed.dtype).min, torch.iinfo(fixed.dtype).max
        found = _scanned(fixed, dim, full, combine, least if largest else most)
        after = input.ndim - dim % input.ndim - 1 if input.ndim else -1
        along = torch.arange(size_of(input, dim, full), device=input.device).view(
            [-1] * (after >= 0) + [1] * after)
        is_it = (fixed == found) | is_nan(fixed)
        place = _scanned(torch.where(is_it, along, 0), dim, full, torch.maximum, 0)
        return getattr(torch.return_types, name)((input.gather(dim, place), place))
    return called


WRITTEN: dict[Callable, Callable] = {
    **both("cumprod", in_float32(_product)),
    **both("logcumsumexp", in_float32(_logarithm)),
    **both("cummax", _extreme("cummax", torch.maximum, True)),
    **both("cummin", _extreme("cummin", torch.minimum, False)),
}
