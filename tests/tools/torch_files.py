"""Files of torch.save, read and written without PyTorch.

A tensor is (dtype, shape, bytes), as support.read_tensors gives it.
"""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from typing import NamedTuple

TYPES = {"F32": "FloatStorage", "F64": "DoubleStorage", "F16": "HalfStorage",
         "BF16": "BFloat16Storage", "I64": "LongStorage", "U8": "ByteStorage"}
SIZES = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I64": 8, "U8": 1}


class Tensor(NamedTuple):
    dtype: str
    shape: list
    data: bytes


def strides_of(shape):
    strides, count = [], 1
    for size in reversed(shape):
        strides.insert(0, count)
        count *= size
    return tuple(strides)


def turned(tensor):
    """The transpose of a matrix."""
    dtype, (rows, columns), data = tensor
    size = SIZES[dtype]
    cells = [data[at:at + size] for at in range(0, len(data), size)]
    return Tensor(dtype, [columns, rows], b"".join(
        cells[i * columns + j] for j in range(columns) for i in range(rows)))


class _Reader(pickle.Unpickler):
    """Takes what tensors need, and nothing else."""

    def __init__(self, archive, folder):
        super().__init__(archive.open(folder + "/data.pkl"))
        self.archive, self.folder = archive, folder

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self.tensor
        for dtype, storage in TYPES.items():
            if (module, name) == ("torch", storage):
                return dtype
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, what):
        kind, dtype, key, location, count = what
        assert (kind, location) == ("storage", "cpu")
        data = self.archive.read(f"{self.folder}/data/{key}")
        assert len(data) == count * SIZES[dtype]
        return dtype, data

    def tensor(self, storage, first, shape, strides, grad, hooks):
        dtype, data = storage
        assert first == 0 and strides == strides_of(shape)
        return Tensor(dtype, list(shape), data)


def read(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for entry in archive.infolist():
            assert entry.compress_type == zipfile.ZIP_STORED
        folders = {name.split("/")[0] for name in archive.namelist()}
        (folder,) = folders
        assert archive.read(folder + "/byteorder") == b"little"
        return _Reader(archive, folder).load()


def _module(name):
    """A module of this name, whatever is in it."""
    for end in [i for i, c in enumerate(name + ".") if c == "."]:
        sys.modules.setdefault(name[:end], types.ModuleType(name[:end]))
    return sys.modules[name]


def named(module, name):
    """A class that pickles name as module.name."""
    value = type(name, (), {"__module__": module, "__qualname__": name})
    setattr(_module(module), name, value)
    return value


def _global(module, name):
    """A function that pickles name so."""
    made = _module(module)
    if not hasattr(made, name):
        def function():
            pass
        function.__module__, function.__qualname__ = module, name
        setattr(made, name, function)
    return getattr(made, name)


class _Storage:

    def __init__(self, id):
        self.id = id


class _Writer(pickle.Pickler):

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = []

    def persistent_id(self, value):
        return value.id if isinstance(value, _Storage) else None

    def reducer_override(self, value):
        if not isinstance(value, Tensor):
            return NotImplemented
        key = str(len(self.storages))
        self.storages.append(value.data)
        count = len(value.data) // SIZES[value.dtype]
        storage = _Storage(("storage", _global("torch", TYPES[value.dtype]),
                            key, "cpu", count))
        return (_global("torch._utils", "_rebuild_tensor_v2"),
                (storage, 0, tuple(value.shape), strides_of(value.shape), False,
                 OrderedDict()))


def write(path, value):
    text = io.BytesIO()
    writer = _Writer(text)
    writer.dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("value/data.pkl", text.getvalue())
        archive.writestr("value/byteorder", "little")
        for key, data in enumerate(writer.storages):
            archive.writestr(f"value/data/{key}", data)
        archive.writestr("value/version", "3\n")
