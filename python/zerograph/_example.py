"""An example as PyTorch's exporters need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from ._library import InvalidArgument


def _dims(batch: Mapping[str, torch.Tensor],
          dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, dict]:
    """Returns the names of the dims that may vary: samples, and what `dynamic`
    says."""
    for name, own in dynamic.items():
        ndim = batch[name].ndim if name in batch else 0
        if not all(0 <= axis < ndim for axis in own):
            raise InvalidArgument(
                f"dynamic names dims {list(own)} of '{name}'; expected inputs of "
                "the example and dims from 0 on, and it has " +
                ", ".join(f"'{one}' of shape {list(array.shape)}"
                          for one, array in batch.items()))
    samples = next((len(one) for one in batch.values() if one.ndim), None)
    dims = {}
    for name, one in batch.items():
        own = {0: "batch"} if one.ndim and len(one) == samples else {}
        dims[name] = {**own, **dict(dynamic.get(name, {}))}
    return dims


@dataclass
class Example:
    """A batch as exporters need it."""

    samples: dict[str, torch.Tensor]
    dims: dict[str, dict[int, str]]  # that may vary, by input
    per_sample: list[str]
    #: Says that it is one sample, of which `samples` has two.
    alone: bool

    def twice(self) -> dict[str, torch.Tensor]:
        """Returns the samples, and the same again."""
        return {name: torch.cat([one, one]) if name in self.per_sample else one
                for name, one in self.samples.items()}

    def keep_sizes(self) -> None:
        """Has the file be for as many samples as these."""
        self.dims = dict.fromkeys(self.dims, {})
        self.per_sample = []


def example_of(batch: dict[str, torch.Tensor], dynamic: Mapping,
               fixed: list[str]) -> Example:
    """Returns a batch so; what is computed of it leaves the batch as it is."""
    # Exporters take a dim of one, as that of a sample alone, for a constant, and
    # make one input of two that are one tensor.
    alone = not fixed and next(
        (len(one) for one in batch.values() if one.ndim), 0) == 1
    samples = {name: torch.cat([one, one])
               if alone and one.ndim and len(one) == 1 else one.clone()
               for name, one in batch.items()}
    dims = _dims(samples, dynamic)
    if fixed:
        if dynamic:
            raise InvalidArgument("dynamic= and fixed= exclude each other: what "
                                  "inputs decide is that of the example's sizes")
        dims = dict.fromkeys(dims, {})
    # A dim that may vary need not be that of samples: the first input has that.
    first = next((own[0] for own in dims.values() if 0 in own), None)
    per_sample = [name for name, own in dims.items() if own.get(0, "") == first]
    return Example(samples, dims, per_sample, alone)
