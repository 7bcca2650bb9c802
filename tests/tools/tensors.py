""".safetensors files, without a package. A tensor is (dtype, shape, bytes)."""

import json
import struct

CODES = {"F32": "f", "F64": "d", "I64": "q"}


def values_of(tensor):
    dtype, _, data = tensor
    size = struct.calcsize(CODES[dtype])
    return struct.unpack(f"<{len(data) // size}{CODES[dtype]}", data)


def tensor_of(dtype, shape, values):
    return dtype, shape, struct.pack(f"<{len(values)}{CODES[dtype]}", *values)


def flat(values):
    """The numbers of nested lists."""
    return ([each for value in values for each in flat(value)]
            if isinstance(values, list) else [values])


def turned(tensor):
    """The transpose of a matrix."""
    dtype, (rows, columns), data = tensor
    size = struct.calcsize(CODES[dtype])
    cells = [data[at:at + size] for at in range(0, len(data), size)]
    return dtype, [columns, rows], b"".join(
        cells[i * columns + j] for j in range(columns) for i in range(rows))


def read_tensors(path):
    """Name -> (dtype, shape, bytes)."""
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    result = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            result[name] = (entry["dtype"], entry["shape"],
                            content[8 + size + begin:8 + size + end])
    return result


def write_tensors(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)
