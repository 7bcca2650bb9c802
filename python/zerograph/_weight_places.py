"""Weights whose places in an ONNX file are found by their values, and the nodes
that make the file's tensors of them.

An exporter that takes weights for constants transposes, cuts, joins and repeats
them. If each weight has a number of its own while a model is exported, its
numbers say where in the file it went; and the file's tensors can be computed of
the weights again, in the weights' own shapes.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator

import numpy as np

from ._library import InvalidArgument

if typing.TYPE_CHECKING:
    import onnx

#: The bits of the first number; those after it are different finite floats, all
#: of them smaller than constants of models are.
_FIRST, _MOST = 0x00800000, 1 << 29


class Weight(typing.NamedTuple):
    """A weight of float32, whose elements count from `begin`."""

    name: str
    shape: tuple[int, ...]
    begin: int

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def numbered(names: list[str], shapes: list[tuple[int, ...]]) -> list[Weight]:
    """Returns the weights, one after the other."""
    weights, begin = [], 0
    for name, shape in zip(names, shapes):
        weights.append(Weight(name, tuple(shape), begin))
        begin += weights[-1].size
    if begin > _MOST:
        raise InvalidArgument(
            f"the model has {begin} weights, at most {_MOST} can be exported: "
            "one file of ONNX holds 2 GB")
    return weights


def numbers(weights: list[Weight]) -> list[np.ndarray]:
    """Returns different values for all elements, of both signs and in no order,
    so that nothing but moving them leaves them what they are."""
    total = sum(weight.size for weight in weights)
    random = np.random.default_rng(0)
    bits = random.permutation(total).astype(np.uint32) + np.uint32(_FIRST)
    bits |= random.integers(0, 2, total, np.uint32) << np.uint32(31)
    values = bits.view(np.float32)
    return [values[each.begin:each.begin + each.size].reshape(each.shape)
            for each in weights]


class Places:
    """Finds where the elements of arrays are from."""

    def __init__(self, weights: list[Weight]):
        self.weights = weights
        values = np.concatenate([np.zeros(0, np.float32), *(
            each.ravel() for each in numbers(weights))])
        self._signs = np.signbit(values)
        self._place = np.empty(len(values), np.int64)
        self._place[self._order(values)] = np.arange(len(values))
        self.seen = np.zeros(len(values), bool)

    @staticmethod
    def _order(array: np.ndarray) -> np.ndarray:
        bits = np.frombuffer(array.tobytes(), np.uint32).reshape(array.shape)
        return (bits & np.uint32(0x7FFFFFFF)).astype(np.int64) - _FIRST

    def of(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the place of each element, -1 of a zero, and whether its sign
        is another; None if the array is not made of weights."""
        order = self._order(array)
        zero = array == 0
        found = (order >= 0) & (order < len(self._place))
        if zero.all() or not (found | zero).all():
            return None
        place = np.full(array.shape, -1, np.int64)
        place[found] = self._place[order[found]]
        other = np.zeros(array.shape, bool)
        other[found] = np.signbit(array[found]) != self._signs[place[found]]
        self.seen[place[found]] = True
        return place, other

    def missing(self) -> list[str]:
        """Returns the weights of which an element was in no array."""
        return [each.name for each in self.weights
                if not self.seen[each.begin:each.begin + each.size].all()]


class Maker:
    """Adds nodes to a graph that make a tensor of weights."""

    def __init__(self, weights: list[Weight]):
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self._begins = np.array([each.begin for each in weights], np.int64)
        self._count = 0

    def make(self, name: str, place: np.ndarray, other: np.ndarray) -> None:
        """Makes the value `name` of the elements at `place`, those with another
        sign where `other` is true."""
        self._add("Identity", [self._value(name, place, other)], name)

    def _value(self, name: str, place: np.ndarray, other: np.ndarray) -> str:
        owners = np.where(place < 0, -1, np.searchsorted(
            self._begins, place, "right") - 1)
        if (owners == owners.flat[0]).all():
            return self._of_one(name, place, other, int(owners.flat[0]))
        parts = []
        for begin, end in _runs(owners):
            # One row that is of several is taken apart.
            mixed = end - begin == 1 and place.ndim > 1 and (
                owners[begin] != owners[begin].flat[0]).any()
            part = ((place[begin], other[begin]) if mixed else
                    (place[begin:end], other[begin:end]))
            value = self._value(name, *part)
            parts.append(self._reshaped(value, (1, *place.shape[1:]))
                         if mixed else value)
        return self._add("Concat", parts, axis=0)

    def _of_one(self, name: str, place: np.ndarray, other: np.ndarray,
                owner: int) -> str:
        if owner < 0:
            return self._constant(np.zeros(place.shape, np.float32))
        if (other != other.flat[0]).any():
            raise InvalidArgument(
                f"'{name}' of the file was computed of weight "
                f"'{self.weights[owner].name}' when the model was exported, and "
                "would not follow it")
        value = self._moved(place, self.weights[owner])
        return self._add("Neg", [value]) if other.flat[0] else value

    def _moved(self, place: np.ndarray, weight: Weight) -> str:
        """Returns the elements at `place` of one weight."""
        own = np.arange(weight.begin, weight.begin + weight.size).reshape(
            weight.shape)
        for order in _orders(own.ndim):
            moved = own.transpose(order)
            if moved.size == place.size and np.array_equal(
                    moved.ravel(), place.ravel()):
                return self._reshaped(self._transposed(weight, order),
                                      place.shape, moved.shape)
        for order in _orders(own.ndim):
            rows = _rows(own.transpose(order), place)
            if rows is not None:
                value = self._reshaped(self._transposed(weight, order),
                                       (-1, place.shape[-1]))
                value = self._add("Gather", [value, self._constant(rows)],
                                  axis=0)
                return self._reshaped(value, place.shape)
        flat = self._reshaped(weight.name, (-1,))
        return self._add("Gather", [flat, self._constant(place - weight.begin)],
                         axis=0)

    def _transposed(self, weight: Weight, order: tuple[int, ...]) -> str:
        if order == tuple(range(len(order))):
            return weight.name
        return self._add("Transpose", [weight.name], perm=order)

    def _reshaped(self, value: str, shape: tuple[int, ...],
                  known: tuple[int, ...] | None = None) -> str:
        if shape == known:
            return value
        return self._add("Reshape", [value, self._constant(
            np.array(shape, np.int64))])

    def _constant(self, array: np.ndarray) -> str:
        from onnx import numpy_helper
        return self._add("Constant", [], value=numpy_helper.from_array(array))

    def _add(self, op: str, inputs: list[str], output: str = "",
             **attributes) -> str:
        from onnx import helper
        self._count += 1
        output = output or f"zerograph.{self._count}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output


def _orders(rank: int) -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(rank)) if rank <= 5 else iter(
        [tuple(range(rank))])


def _runs(owners: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yields ranges of the first dim, each of one owner or of one index."""
    begin = 0
    for end in range(1, len(owners) + 1):
        one = (owners[begin] == owners[begin].flat[0]).all()
        same = end < len(owners) and one and (
            owners[end] == owners[begin].flat[0]).all()
        if not same:
            yield begin, end
            begin = end


def _rows(own: np.ndarray, place: np.ndarray) -> np.ndarray | None:
    """Returns which rows of `own`, as long as those of `place`, these are."""
    if place.ndim < 2 or own.size % place.shape[-1] != 0:
        return None
    table = own.reshape(-1, place.shape[-1])
    wanted = place.reshape(-1, place.shape[-1])
    first = {int(row[0]): i for i, row in enumerate(table)}
    rows = [first.get(int(row[0]), -1) for row in wanted]
    if -1 in rows or not np.array_equal(table[rows], wanted):
        return None
    return np.array(rows, np.int64)
