"""Telling whether the loss of a batch is the mean of its halves' losses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from ._check import is_small
from ._run import Run, generators_kept, quiet
from ._wrapper import Batch


class _Losses(torch.overrides.TorchFunctionMode):
    """Collects the labels that losses leave out, and leaves BatchNorm out, which
    is meant to count by micro-batch."""

    def __init__(self):
        super().__init__()
        self.ignored: set[int] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is functional.batch_norm:
            return args[0]
        if "ignore_index" in kwargs:
            self.ignored.add(kwargs["ignore_index"])
        return func(*args, **kwargs)


def _is_uneven(ignored: torch.Tensor) -> bool:
    """Tells whether more is ignored of one sample than of another."""
    counts = ignored.reshape(len(ignored), -1).sum(1)
    return bool((counts != counts[0]).any())


def _fills(one: torch.Tensor, ignored: set[int]) -> list[int]:
    """Returns values that may leave samples out: those of a mask, labels that
    are ignored. Every cross entropy ignores -100, which most data have not, or as
    often in each sample."""
    if one.dtype == torch.bool:
        return [0, 1]
    if one.is_floating_point():
        return [0] if ((one == 0) | (one == 1)).all() else []
    return [0, *(label for label in sorted(ignored)
                 if label != -100 or _is_uneven(one == label))]


def _first_halves(batch: Batch, per_sample: list[str],
                  losses: _Losses) -> Iterator[Batch]:
    """Yields the first two samples, and then what a mask, or labels, may leave
    out as a whole."""
    half = {name: one[:2] if name in per_sample else one
            for name, one in batch.items()}
    yield half
    for name in per_sample:
        for value in _fills(batch[name], losses.ignored):
            yield {**half, name: torch.where(half[name] == -100, half[name],
                                             value).to(half[name].dtype)}


def _tolerance(module: torch.nn.Module) -> float:
    """Returns how far losses may be apart by rounding, as a part of them."""
    return max([1e-4] + [20 * torch.finfo(one.dtype).eps
                         for one in module.parameters()
                         if one.is_floating_point()])


@generators_kept()
def is_mean_of_halves(module: torch.nn.Module, batch: Batch,
                      per_sample: list[str],
                      compute: Callable[[Batch], Run]) -> bool:
    """Tells whether micro-batches have, in the mean, the loss of the whole batch:
    of its first and last two samples, and of a small module also of these with
    zeros, or with labels that are ignored. What it cannot tell, as of a loss that draws
    random numbers, counts as a mean."""
    samples = min((len(batch[name]) for name in per_sample), default=0)
    if samples < 4 or any(one.device.type != "cpu" for one in batch.values()):
        return True
    losses, tolerance = _Losses(), _tolerance(module)

    def loss_of(batch: Batch) -> float | None:
        try:
            made = compute(batch)
        except Exception:  # such values, or so few samples, are refused
            return None
        return (None if made.drew or made.drew_others
                else float(made.loss))

    def agrees(first: Batch) -> bool:
        found = (loss_of({name: torch.cat([one, second[name]])
                          if name in per_sample else one
                          for name, one in first.items()}),
                 loss_of(first), of_second)
        # The mean of what is not finite is not finite either.
        if None in found or not math.isfinite(found[0]):
            return True
        apart = abs(found[0] - (found[1] + found[2]) / 2)
        return (math.isfinite(apart) and
                apart <= tolerance * max(map(abs, found)) + 1e-5)

    second = {name: one[-2:] if name in per_sample else one
              for name, one in batch.items()}
    with torch.no_grad(), quiet(), losses:
        of_second = loss_of(second)
        halves = _first_halves(batch, per_sample, losses)
        few = None if is_small(module, batch) else 1
        return all(map(agrees, itertools.islice(halves, few)))
