"""Functions of the order of elements, as torch.median, in operations that exporters
write. An element's rank is how many come before it, and the chosen one is what is
left of a sum in which the others are 0: so the gradient goes to it. That is
quadratic in the length of a row, but nothing of that size is stored."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ._cumulative_functions import size_of
from ._parts import both, is_nan


def _ranks(rows: torch.Tensor) -> torch.Tensor:
    """Returns how many elements of a row come before each: the smaller ones, and
    equal ones in front of it. NaN is larger than all numbers."""
    rows = rows.detach()
    place = torch.arange(rows.shape[-1], device=rows.device)
    own, other = rows.unsqueeze(-1), rows.unsqueeze(-2)
    smaller, equal = other < own, other == own
    if rows.is_floating_point():
        smaller = smaller | (~is_nan(other) & is_nan(own))
        equal = equal | (is_nan(other) & is_nan(own))
    return (smaller | (equal & (place < place.unsqueeze(-1)))).sum(-1)


def _of_ranks(rows: torch.Tensor,
              wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the elements of these ranks of each row, and their places."""
    chosen = _ranks(rows).unsqueeze(-2) == wanted.unsqueeze(-1)
    place = torch.arange(rows.shape[-1], device=rows.device)
    return (torch.where(chosen, rows.unsqueeze(-2), 0).sum(-1, dtype=rows.dtype),
            torch.where(chosen, place, 0).sum(-1))


def _last_rank(rows: torch.Tensor, ignores_nan: bool) -> torch.Tensor:
    """Returns the rank of each row's last element: of those that are no NaN, or
    else 0, if it ignores NaN."""
    counted = (~is_nan(rows) if ignores_nan else
               torch.ones_like(rows, dtype=torch.bool))
    return (counted.sum(-1, keepdim=True) - 1).clamp(min=0)


def _or_nan(rows: torch.Tensor, found: torch.Tensor,
            ignores_nan: bool) -> torch.Tensor:
    """Returns what was found, or NaN of a row that has one; of one that has
    nothing else, if it ignores NaN."""
    if not rows.is_floating_point():
        return found
    missing = is_nan(rows)
    missing = (missing.all(-1, keepdim=True) if ignores_nan else
               missing.any(-1, keepdim=True))
    return torch.where(missing, math.nan, found)


def _first_nan(rows: torch.Tensor) -> torch.Tensor:
    """Returns the place of each row's first NaN, or how many elements it has."""
    place = torch.arange(rows.shape[-1], device=rows.device)
    return torch.where(is_nan(rows), place, rows.shape[-1]).amin(-1, keepdim=True)


def _rows_of(input: torch.Tensor, dim: int) -> torch.Tensor:
    return input.transpose(dim, -1) if input.ndim else input.unsqueeze(0)


def _back(found: torch.Tensor, input: torch.Tensor, dim: int,
          keepdim: bool) -> torch.Tensor:
    """Returns an element of each row, as a reduction does."""
    if input.ndim == 0:
        return found.squeeze(0)
    found = found.transpose(dim, -1)
    return found if keepdim else found.squeeze(dim)


def _median_of_all(input: torch.Tensor, ignores_nan: bool) -> torch.Tensor:
    """Returns the median of all elements, by which equal ones share the
    gradient."""
    rows = input.flatten()
    found, _ = _of_ranks(rows, _last_rank(rows, ignores_nan) // 2)
    if rows.is_floating_point():
        equal = torch.where(rows == found.detach(), rows, -math.inf)
        found = equal.amax(-1, keepdim=True)
    return _or_nan(rows, found, ignores_nan).squeeze(-1)


def _median(name: str, ignores_nan: bool) -> Callable:
    """Returns torch.median or torch.nanmedian, which are the lower one of two
    elements in the middle."""
    def called(input, dim=None, keepdim=False):
        if dim is None:
            return _median_of_all(input, ignores_nan)
        rows = _rows_of(input, dim)
        found, place = _of_ranks(rows, _last_rank(rows, ignores_nan) // 2)
        if rows.is_floating_point() and not ignores_nan:
            place = torch.where(is_nan(rows).any(-1, keepdim=True),
                                _first_nan(rows), place)
        found = _or_nan(rows, found, ignores_nan)
        return getattr(torch.return_types, name)(tuple(
            _back(one, input, dim, keepdim) for one in (found, place)))
    return called


def _kth_value(input, k, dim=-1, keepdim=False):
    """Is torch.kthvalue. Of fewer elements than k there is none, so the number of
    them may not vary."""
    if not 1 <= k <= size_of(input, dim, "torch.kthvalue"):
        raise RuntimeError(f"kthvalue(): k is {k}, and there are "
                           f"{input.shape[dim] if input.ndim else 1} elements")
    found = _of_ranks(_rows_of(input, dim),
                      torch.full((1,), k - 1, device=input.device))
    return torch.return_types.kthvalue(tuple(
        _back(one, input, dim, keepdim) for one in found))


#: Maps kinds of torch.quantile that are one element to how they round a rank.
_ROUNDED = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}


def _of_fractions(rows: torch.Tensor, rank: torch.Tensor,
                  interpolation: str) -> torch.Tensor:
    """Returns what there is at ranks between two."""
    if interpolation in _ROUNDED:
        rank = _ROUNDED[interpolation](rank)
        return _of_ranks(rows, rank.to(torch.int64))[0]
    below, above = (_of_ranks(rows, one.to(torch.int64))[0]
                    for one in (rank.floor(), rank.ceil()))
    share = 0.5 if interpolation == "midpoint" else rank - rank.floor()
    return torch.lerp(below, above, share)


def _quantile(ignores_nan: bool) -> Callable:
    """Returns torch.quantile or torch.nanquantile."""
    def called(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        q = torch.as_tensor(q, dtype=input.dtype, device=input.device)
        rows = input.flatten() if dim is None else _rows_of(input, dim)
        rank = q.reshape(-1) * _last_rank(rows, ignores_nan)
        found = _or_nan(rows, _of_fractions(rows, rank, interpolation),
                        ignores_nan)
        each = [one.view([1] * input.ndim if keepdim else []) if dim is None else
                _back(one, input, dim, keepdim) for one in found.split(1, -1)]
        return torch.stack(each) if q.ndim else each[0]
    return called


def _places(sorted_sequence, input, *, out_int32=False, right=False, side=None,
            sorter=None):
    """Is torch.searchsorted, which counts what is in front of each value."""
    sequence, values = sorted_sequence, input
    if not isinstance(values, torch.Tensor):
        values = torch.as_tensor(values, device=sequence.device)
    if sorter is not None:
        sequence = sequence.gather(-1, sorter)
    before, own = sequence.unsqueeze(-2), values.unsqueeze(-1)
    if values.ndim == 0:
        before = sequence
    behind = before > own if right or side == "right" else before >= own
    return (~behind).sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def _buckets(input, boundaries, *, out_int32=False, right=False):
    """Is torch.bucketize."""
    return _places(boundaries, input, out_int32=out_int32, right=right)


WRITTEN: dict[Callable, Callable] = {
    **both("median", _median("median", False)),
    **both("nanmedian", _median("nanmedian", True)),
    **both("kthvalue", _kth_value),
    **both("quantile", _quantile(False)),
    **both("nanquantile", _quantile(True)),
    torch.searchsorted: _places,
    torch.bucketize: _buckets,
}
