"""Batches of numpy, PyTorch and DLPack as arrays for the library."""

from __future__ import annotations

import ctypes
import functools
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._library import Array, InvalidArgument

#: Types by numpy's names, as .safetensors files name them.
TYPES = {"float64": "F64", "float32": "F32", "float16": "F16",
         "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
         "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def _of_torch(name: str, tensor,
              what: str) -> tuple[np.ndarray, str | None]:
    if tensor.device.type != "cpu":
        raise InvalidArgument(
            f"{what}: '{name}' is on {tensor.device}; the library reads the "
            "host's memory: give tensor.cpu()")
    torch = sys.modules["torch"]
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:  # numpy has no such type
        return tensor.view(torch.int16).numpy(), "BF16"
    try:
        return tensor.numpy(), None
    except TypeError as error:  # sparse, or of a type that numpy has not
        raise InvalidArgument(f"{what}: '{name}' is {tensor.dtype}, "
                              f"{tensor.layout}: {error}") from error


def as_numpy(name: str, value,
             what: str = "the batch") -> tuple[np.ndarray, str]:
    """Returns the array in the memory where it is, if it is dense there, and
    the name of its type. `what` is what errors say that it is of."""
    known = None
    if isinstance(value, np.ndarray):
        array = value
    elif hasattr(value, "detach") and "torch" in sys.modules:
        array, known = _of_torch(name, value, what)
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    else:
        array = np.asarray(value)
    known = known or TYPES.get(array.dtype.name)
    if known is None:
        raise InvalidArgument(
            f"{what}: '{name}' has elements of type {array.dtype}, which no "
            f"tensor has; there are {', '.join(TYPES)}")
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    if array.ndim and not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    return array, known


class Arrays:
    """The arrays of a batch, or of `what`; `pointer` and `count` are for the
    library, as long as this object lives."""

    def __init__(self, batch: Mapping[str, Any] | tuple | list,
                 names: list[str], what: str = "the batch"):
        if isinstance(batch, (tuple, list)):
            if len(batch) != len(names):
                raise InvalidArgument(
                    f"{what} has {len(batch)} arrays, and the model "
                    f"{len(names)} inputs: {', '.join(names)}")
            batch = dict(zip(names, batch))
        if not isinstance(batch, Mapping):
            raise InvalidArgument(
                f"{what} is a {type(batch).__name__}, expected a dictionary "
                "of arrays by the names of the model's inputs: "
                f"{', '.join(names)}")
        self.count = len(batch)
        self.pointer = (Array * self.count)()
        self.arrays: dict[str, np.ndarray] = {}
        for entry, (name, value) in zip(self.pointer, batch.items()):
            array, kind = as_numpy(name, value, what)
            entry.name, entry.type, entry.shape = _described(name, kind,
                                                             array.shape)
            entry.dims = array.ndim
            entry.data = array.ctypes.data
            self.arrays[name] = array


@functools.lru_cache(maxsize=1024)
def _described(name: str, kind: str, shape: tuple[int, ...]):
    """Returns what the library is told of an array; kept, since most batches
    are alike."""
    return (name.encode(), kind.encode(),
            (ctypes.c_uint64 * len(shape))(*shape))


def write_arrays(path: str, arrays: Mapping[str, Any], what: str) -> None:
    """Writes arrays of `what` as .safetensors."""
    header, parts, begin = {}, [], 0
    for name, value in arrays.items():
        array, kind = as_numpy(name, value, what)
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [begin, begin + array.nbytes]}
        parts.append(array)
        begin += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in parts:
            file.write(array.tobytes())


def empty(kind: str, shape: list[int]) -> np.ndarray:
    """Returns an array for elements of a type; those of bfloat16 as their 16
    bits."""
    for name, known in TYPES.items():
        if known == kind:
            return np.empty(shape, "uint16" if kind == "BF16" else name)
    raise ValueError(kind)


def at(address: int, kind: str, shape: list[int], owner: Any) -> np.ndarray:
    """Returns a view of memory, which cannot be written and keeps its owner."""
    like = empty(kind, [0])
    elements = int(np.prod(shape))
    buffer = (ctypes.c_char * (elements * like.itemsize)).from_address(address)
    buffer.owner = owner
    view = np.frombuffer(buffer, like.dtype, elements).reshape(shape)
    view.flags.writeable = False
    return view


def widened(array: np.ndarray, kind: str) -> np.ndarray:
    """Returns elements of bfloat16 as float32, and others as they are."""
    if kind != "BF16":
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)
