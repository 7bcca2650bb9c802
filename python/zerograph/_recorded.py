"""Recording what is computed of inputs alone, so that it can be computed again of
another batch: to see whether that decides the same as the example."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from ._gradients import written_by
from ._library import InvalidArgument

#: Numbers of floats that differ by less are rounded otherwise.
_ROUNDING = 1e-5


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Computes with values, also within an exporter's run."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), \
            torch.no_grad():
        yield


@dataclass(frozen=True)
class Place:
    """Stands for a tensor of a recording."""

    index: int


@dataclass
class _Call:
    function: Callable
    arguments: tuple  # with places for tensors
    results: list[int]
    reads: set[int]  # memory, by number
    writes: set[int]  # what it makes or changes


@dataclass
class Decision:
    """Has the number that Python got of a tensor, or a count."""

    index: int
    value: Any
    what: str  # that it is, as "how many are true"
    where: str  # the line that asked
    inputs: tuple[str, ...]  # that it depends on


def is_same(value, expected) -> bool:
    """Tells whether numbers are the same, also within lists."""
    if isinstance(expected, list):
        return (isinstance(value, list) and len(value) == len(expected) and
                all(map(is_same, value, expected)))
    if isinstance(expected, float) and isinstance(value, float):
        return (value == expected or
                math.isclose(value, expected, rel_tol=_ROUNDING) or
                (math.isnan(value) and math.isnan(expected)))
    return value == expected


class Recording:
    """Has calls of functions in their order, and what was decided between. Keeps
    their tensors until `finish`, so that each memory has a number of its own."""

    def __init__(self):
        self._tensors: list[torch.Tensor] = []
        self._depends: list[frozenset[str]] = []
        self._steps: list[_Call | Decision] = []
        self._inputs: dict[str, int] = {}
        self._types: dict[str, torch.dtype] = {}
        self.decisions: list[Decision] = []

    def add_input(self, name: str, value: torch.Tensor) -> int:
        self._types[name] = value.dtype
        self._inputs[name] = self._add(value, frozenset({name}))
        return self._inputs[name]

    def tensor(self, index: int) -> torch.Tensor:
        return self._tensors[index]

    def inputs_of(self, index: int) -> tuple[str, ...]:
        return tuple(sorted(self._depends[index]))

    def memory(self, index: int) -> int:
        return self._tensors[index].untyped_storage()._cdata

    def call(self, function: Callable, arguments: tuple) -> Any:
        """Computes a function of arguments that have places for tensors, and
        returns its results so."""
        given = [one.index for one in tree_leaves(arguments)
                 if isinstance(one, Place)]
        args, kwargs = tree_map(
            lambda one: self._tensors[one.index] if isinstance(one, Place) else
            one, arguments)
        with outside():
            made = function(*args, **kwargs)
        depends = frozenset().union(*(self._depends[one] for one in given))
        written = written_by(function, args)
        results: list[int] = []

        def placed(one):
            if not isinstance(one, torch.Tensor):
                return one
            index = next((index for index in given
                          if self._tensors[index] is one), None)
            if index is None:
                index = self._add(one, depends)
            results.append(index)
            return Place(index)

        placed_results = tree_map(placed, made)
        writes = {self.memory(one) for one in results}
        if written is not None:
            writes.add(written.untyped_storage()._cdata)
            for index, one in enumerate(self._tensors):
                if one.untyped_storage()._cdata in writes:
                    self._depends[index] |= depends
        self._steps.append(_Call(function, arguments, results,
                                 {self.memory(one) for one in given}, writes))
        return placed_results

    def decide(self, decision: Decision) -> None:
        if decision.inputs:
            self._steps.append(decision)
            self.decisions.append(decision)

    def finish(self) -> Recording:
        """Leaves out what nothing was decided by."""
        wanted: set[int] = set()
        kept: list[_Call | Decision] = []
        for step in reversed(self._steps):
            if isinstance(step, Decision):
                wanted.add(self.memory(step.index))
            elif step.writes & wanted:
                wanted |= step.reads
            else:
                continue
            kept.append(step)
        self._steps = kept[::-1]
        self._inputs = {name: index for name, index in self._inputs.items()
                        if self.memory(index) in wanted}
        self._tensors.clear()
        return self

    def check(self, batch: Mapping[str, torch.Tensor]) -> None:
        """Refuses a batch that decides otherwise."""
        made = {index: batch[name].clone()
                for name, index in self._inputs.items()}
        with outside():
            for step in self._steps:
                if isinstance(step, _Call):
                    self._call_again(step, made)
                    continue
                found = made[step.index].tolist()
                if not is_same(found, step.value):
                    raise _refusal(step, found)

    def _call_again(self, step: _Call, made: dict[int, torch.Tensor]) -> None:
        args, kwargs = tree_map(
            lambda one: made[one.index] if isinstance(one, Place) else one,
            step.arguments)
        try:
            result = step.function(*args, **kwargs)
        except Exception as error:
            raise InvalidArgument(
                f"the batch: what {_quoted(self.inputs)} decide cannot be computed: "
                f"{type(error).__name__}: {error}") from error
        made.update(zip(step.results, (one for one in tree_leaves(result)
                                       if isinstance(one, torch.Tensor))))

    def check_parts(self, arrays: Mapping[str, np.ndarray],
                    inputs: list[dict]) -> None:
        """Checks each micro-batch of arrays. `inputs` says which have samples,
        and the shapes of a micro-batch's. What is no batch at all, the library
        refuses."""
        samples = min((one["shape"][0] for one in inputs if one["per_sample"]),
                      default=1)
        rows, batch = {}, {}  # of a sample there may be several
        for one in inputs:
            name, shape = one["name"], tuple(one["shape"])
            if name not in self._inputs:
                continue
            found = _tensor(arrays.get(name), self._types[name])
            begin = 1 if one["per_sample"] else 0
            if found is None or found.ndim < begin or (
                    tuple(found.shape[begin:]) != shape[begin:]):
                return
            batch[name] = found
            if begin:
                rows[name] = shape[0] // samples
        count = min((len(batch[name]) // own for name, own in rows.items()),
                    default=1)
        for begin, end in _parts(count, samples):
            self.check({name: torch.cat(
                [one[begin * rows[name]:end * rows[name]]] *
                (samples // (end - begin))) if name in rows else one
                for name, one in batch.items()})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that decide something."""
        return tuple(sorted({name for one in self.decisions
                             for name in one.inputs}))

    def _add(self, value: torch.Tensor, depends: frozenset[str]) -> int:
        self._tensors.append(value)
        self._depends.append(depends)
        return len(self._tensors) - 1


def _tensor(array: np.ndarray | None,
            kind: torch.dtype) -> torch.Tensor | None:
    """Returns an array as a tensor, if it is of this type."""
    if array is None:
        return None
    found = torch.tensor(array)
    if kind == torch.bfloat16 and found.dtype == torch.int16:
        found = found.view(kind)  # numpy has no such type
    return found if found.dtype == kind else None


def _parts(count: int, samples: int) -> Iterator[tuple[int, int]]:
    """Yields where micro-batches begin and end. An evaluation fills what is left
    over up with copies of itself."""
    begin = 0
    while begin < count:
        end = begin + next(size for size in range(min(count - begin, samples), 0,
                                                  -1) if samples % size == 0)
        yield begin, end
        begin = end


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{one}'" for one in names)


def _short(value) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _refusal(decision: Decision, found) -> InvalidArgument:
    return InvalidArgument(
        f"the batch: {decision.what}, which {_quoted(decision.inputs)} decides at "
        f"{decision.where}, is {_short(found)}, and was {_short(decision.value)} "
        "in the example: fixed= has the plan keep what it decides. Make another "
        "plan, with this batch as the example, or have all batches decide the "
        "same: sort samples by it, or pad them")
