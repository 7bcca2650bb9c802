"""Computing the values of what depends on inputs alone, while an exporter computes
without values: for numbers that Python asks for, and counts of masks."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

from ._gradients import written_by
from ._recorded import Decision, Place, Recording, outside

_MAKE = {getattr(torch, name) for name in (
    "arange", "as_tensor", "eye", "full", "linspace", "ones", "scalar_tensor",
    "tensor", "tril_indices", "triu_indices", "zeros")}
#: Fill a tensor that is like another one, whatever values this has.
_FILL = {getattr(owner, name): value for owner, name, value in (
    (torch, "zeros_like", 0), (torch, "ones_like", 1),
    (torch.Tensor, "new_zeros", 0), (torch.Tensor, "new_ones", 1))}
#: Take sizes, which may be tensors of one number.
_SIZED = _MAKE | {getattr(owner, name) for owner in (torch, torch.Tensor)
                  for name in ("expand", "narrow", "repeat", "reshape", "roll",
                               "split", "tile", "unflatten", "view")
                  if hasattr(owner, name)} | {
                      torch.nn.functional.interpolate, torch.nn.functional.pad,
                      torch.multinomial}
_NUMBERS = {getattr(torch.Tensor, name) for name in (
    "item", "tolist", "__int__", "__index__", "__float__", "numpy", "__array__")}
_PLACES = {torch.nonzero, torch.Tensor.nonzero, torch.argwhere,
           torch.Tensor.argwhere}
_SELECTS = {torch.masked_select, torch.Tensor.masked_select}
_DIFFERENT = {getattr(owner, name) for owner in (torch, torch.Tensor)
              for name in ("unique", "unique_consecutive")}
_REPEATS = {torch.repeat_interleave, torch.Tensor.repeat_interleave}
_LIST = torch.Tensor.tolist
_ELEMENT, _SET_ELEMENT = torch.Tensor.__getitem__, torch.Tensor.__setitem__

_OTHERS = (os.path.dirname(torch.__file__) + os.sep,
           os.path.dirname(__file__) + os.sep)


def _where() -> str:
    """Returns the line outside of PyTorch and this package that is at work."""
    frame = sys._getframe()
    while frame and frame.f_code.co_filename.startswith(_OTHERS + ("<",)):
        frame = frame.f_back
    return (f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            if frame else "an unknown line")


def _count(mask: torch.Tensor) -> torch.Tensor:
    return (mask != 0).sum()


def _true_places(mask: torch.Tensor, count: int) -> torch.Tensor:
    """Returns where the first `count` elements are that are true, of all elements
    in a row: each is written to the place that its number has."""
    mask = (mask != 0).flatten()
    places = torch.arange(len(mask), device=mask.device)
    if count == len(mask):
        return places
    number = (mask.to(torch.int64).cumsum(0) - 1).clamp(max=count)
    number = torch.where(mask, number, count)
    return torch.zeros(count + 1, dtype=torch.int64, device=mask.device).scatter(
        0, number, places)[:count]


def _by_dim(places: torch.Tensor, shape: Iterable[int]) -> list[torch.Tensor]:
    """Returns places in a row as indices of each dim."""
    shape = list(shape)
    return [places // math.prod(shape[dim + 1:]) % size
            if len(shape) > 1 else places for dim, size in enumerate(shape)]


def _rows(input: torch.Tensor, dims: int, places: torch.Tensor,
          count: int) -> torch.Tensor:
    """Returns what is at places of the first dims, taken as one."""
    input = input.flatten(0, dims - 1) if dims > 1 else input
    return input if count == len(input) else input.index_select(0, places)


def _repeated(input: torch.Tensor, repeats: list[int], dim: int) -> torch.Tensor:
    index = [place for place, times in enumerate(repeats) for _ in range(times)]
    return input.index_select(dim, torch.tensor(index, dtype=torch.int64,
                                                device=input.device))


def _is_mask(one) -> bool:
    return (isinstance(one, torch.Tensor) and one.ndim > 0 and
            one.dtype in (torch.bool, torch.uint8))


class FixedValues(torch.overrides.TorchFunctionMode):
    """Computes the values of what depends on some inputs alone beside what an
    exporter computes, which has none: numbers that Python asks for, and counts of
    masks, are those of the example. `recording` has them, and `holds` is a tensor
    that says whether the batch has the same."""

    def __init__(self, now: Mapping[str, torch.Tensor],
                 values: Mapping[str, torch.Tensor]):
        super().__init__()
        self.recording = Recording()
        self.holds: torch.Tensor | None = None
        self._known: dict[int, tuple[torch.Tensor, int]] = {}
        self._lost: set[int] = set()  # memory with values of other tensors
        self._patches = contextlib.ExitStack()
        for name, value in values.items():
            with outside():
                value = value.clone()
            self._know(now[name], self.recording.add_input(name, value))

    def __enter__(self):
        # An exporter's tensors make a list of numbers themselves.
        for cls in (FakeTensor, FunctionalTensor):
            self._patches.enter_context(mock.patch.object(
                cls, "tolist", self._list(cls.tolist)))
        return super().__enter__()

    def __exit__(self, *error):
        self._patches.close()
        return super().__exit__(*error)

    def _list(self, tolist: Callable) -> Callable:
        return lambda tensor: (
            torch.overrides.handle_torch_function(_LIST, (tensor,), tensor)
            if self._is_known(tensor) else tolist(tensor))

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.Tensor.__iter__:
            return iter(self._call(torch.unbind, args, {}))
        if func is torch.Tensor.__bool__ and self._is_known(args[0]):
            asked = self._call(torch.Tensor.to, (args[0], torch.bool), {})
            return self._number(asked, "what is asked")
        if (func in _NUMBERS or func is torch.Tensor.item) and (
                self._is_known(args[0])):
            number = self._number(args[0], "the number")
            return (self.recording.tensor(self._index(args[0])).numpy().copy()
                    if "numpy" in func.__name__ or "array" in func.__name__ else
                    int(number) if func.__name__ in ("__int__", "__index__") else
                    float(number) if func.__name__ == "__float__" else number)
        if func in (_ELEMENT, _SET_ELEMENT):
            return self._element(func, args, kwargs)
        if (func in _PLACES or (func is torch.where and len(args) == 1 and
                                not kwargs)) and self._is_known(args[0]):
            return self._nonzero(args[0], func is torch.where or
                                 kwargs.get("as_tuple", False))
        if func in _SELECTS and len(args) == 2 and self._is_known(args[1]):
            input, mask = self._call(torch.broadcast_tensors, args, {})
            return self._chosen(input, mask)
        if func in _DIFFERENT and len(args) == 1 and self._is_known(
                args[0]) and not any(one for name, one in kwargs.items()
                                     if name != "sorted"):
            return self._different(func, args[0])
        if func in _REPEATS:
            return self._repeat(func, args, kwargs)
        if func in _SIZED:
            args, kwargs = tree_map(self._as_size, (args, kwargs))
        return self._call(func, args, kwargs)

    def _index(self, tensor: torch.Tensor) -> int | None:
        found = self._known.get(id(tensor))
        return (found[1] if found and found[0] is tensor and
                self.recording.memory(found[1]) not in self._lost else None)

    def _is_known(self, one) -> bool:
        return isinstance(one, torch.Tensor) and self._index(one) is not None

    def _know(self, tensor: torch.Tensor, index: int) -> None:
        self._known[id(tensor)] = tensor, index

    def _call(self, func, args, kwargs) -> Any:
        """Calls a function, and computes its values if all is known."""
        tensors = [one for one in tree_leaves((args, kwargs))
                   if isinstance(one, torch.Tensor)]
        result = func(*args, **kwargs)
        setting = getattr(func, "__name__", "") == "__set__"
        if func in _FILL:
            self._compute(torch.full, (list(result.shape), _FILL[func]),
                          {"dtype": result.dtype}, result)
            return result
        if "out" not in kwargs and not setting and (
                tensors or func in _MAKE) and all(map(self._is_known, tensors)):
            self._compute(func, args, kwargs, result)
            return result
        for one in (args[0] if setting else written_by(func, args),
                    kwargs.get("out")):
            if self._is_known(one):
                self._lost.add(self.recording.memory(self._index(one)))
        return result

    def _compute(self, func, args, kwargs, result) -> None:
        now = [one for one in tree_leaves(result)
               if isinstance(one, torch.Tensor)]
        if not now and written_by(func, args) is None:
            return  # sizes, types and modes
        places = tree_map(
            lambda one: Place(self._index(one))
            if isinstance(one, torch.Tensor) else one, (args, kwargs))
        state = torch.get_rng_state()
        try:
            values = self.recording.call(func, places)
        except Exception:  # it stays unknown
            values = None
        if not torch.equal(state, torch.get_rng_state()):
            torch.set_rng_state(state)
            return
        found = [one for one in tree_flatten(values)[0]
                 if isinstance(one, Place)]
        if len(found) == len(now):
            for one, place in zip(now, found):
                value = self.recording.tensor(place.index)
                # The size of one may be unknown.
                if [*map(repr, one.shape)] == [*map(repr, value.shape)]:
                    self._know(one, place.index)

    def _number(self, tensor: torch.Tensor, what: str):
        """Returns the example's value, as Python has it."""
        index = self._index(tensor)
        with outside():
            value = self.recording.tensor(index).tolist()
        if not self.recording.inputs_of(index):
            return value
        self.recording.decide(Decision(index, value, what, _where(),
                                       self.recording.inputs_of(index)))
        expected = torch.tensor(value, dtype=tensor.dtype, device=tensor.device)
        same = tensor == expected
        if tensor.is_floating_point():  # it may be rounded otherwise
            same |= (tensor - expected).abs() <= 1e-4 * expected.abs()
        holds = same.all()
        self.holds = holds if self.holds is None else self.holds & holds
        return value

    def _as_size(self, one):
        return (self._number(one, "the size") if isinstance(one, torch.Tensor) and
                one.ndim == 0 and not one.is_floating_point() and
                one.dtype != torch.bool and self._is_known(one) else one)

    def _places(self, mask: torch.Tensor) -> tuple[torch.Tensor, int]:
        count = self._number(self._call(_count, (mask,), {}),
                             f"how many of {mask.numel()} are true")
        return self._call(_true_places, (mask, count), {}), count

    def _chosen(self, input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        places, count = self._places(mask)
        return self._call(_rows, (input, mask.ndim, places, count), {})

    def _nonzero(self, mask: torch.Tensor, as_tuple: bool):
        places, _ = self._places(mask)
        found = self._call(_by_dim, (places, tuple(mask.shape)), {})
        return tuple(found) if as_tuple else self._call(
            torch.stack, (found, 1), {})

    def _different(self, func, input: torch.Tensor) -> torch.Tensor:
        self._number(input, "the numbers")
        with outside():
            found = func(self.recording.tensor(self._index(input))).tolist()
        return self._call(torch.tensor, (found,), {
            "dtype": input.dtype, "device": input.device})

    def _element(self, func, args, kwargs):
        input, index, *value = args
        many = isinstance(index, (tuple, list)) and any(
            isinstance(one, (torch.Tensor, slice)) or one is Ellipsis
            for one in index)
        parts = list(index) if many else [index]
        parts = [slice(*(self._as_size(end) for end in
                         (one.start, one.stop, one.step)))
                 if isinstance(one, slice) else one for one in parts]
        masks = [one for one in parts if _is_mask(one)]
        one_number = value and (not isinstance(value[0], torch.Tensor) or
                                value[0].numel() == 1)
        if masks and not one_number and all(map(self._is_known, masks)):
            if not value and len(parts) == 1:
                return self._chosen(input, parts[0])
            parts = [part for one in parts for part in (
                self._nonzero(one, True) if _is_mask(one) else (one,))]
        index = tuple(parts) if many or len(parts) > 1 else parts[0]
        return self._call(func, (input, index, *value), kwargs)

    def _repeat(self, func, args, kwargs):
        names = ("input", "repeats", "dim")
        given = {**dict(zip(names, args)), **kwargs}
        given.pop("output_size", None)
        input, repeats, dim = (given.get(name) for name in names)
        if repeats is None:  # it is of places
            repeats = input
            input = self._call(torch.arange, (len(repeats),), {})
        if not self._is_known(repeats):
            return self._call(func, args, kwargs)
        if dim is None:
            input, dim = self._call(torch.flatten, (input,), {}), 0
        counts = self._number(repeats, "the counts")
        counts = counts if isinstance(counts, list) else [counts]
        if len(counts) == 1:
            counts *= input.size(dim)
        return self._call(_repeated, (input, counts, dim), {})
