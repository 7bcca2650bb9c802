"""Small ONNX models as bytes, without the onnx package: a message is a list of
(field number, value); an int is a varint, bytes or text or a list a payload."""

import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def message(fields):
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        if isinstance(value, str):
            value = value.encode()
        elif isinstance(value, list):
            value = message(value)
        out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


FLOAT, INT64, FLOAT16, DOUBLE, BFLOAT16 = 1, 7, 10, 11, 16


def pack(values, dtype):
    """Numbers as little-endian bytes; of bfloat16, without rounding."""
    if dtype == BFLOAT16:
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    code = {FLOAT: "f", INT64: "q", FLOAT16: "e", DOUBLE: "d"}[dtype]
    return struct.pack("<%d%s" % (len(values), code), *values)


def value_info(name, dims, dtype=FLOAT):
    """A dim is a number or a name."""
    shape = [(1, [(2 if isinstance(dim, str) else 1, dim)]) for dim in dims]
    return [(1, name), (2, [(1, [(1, dtype), (2, shape)])])]


def node(name, op, inputs, outputs, ints={}, texts={},
         lists={}):
    """`ints`: attributes of one whole number; `texts`: of a text;
    `lists`: of whole numbers."""
    return ([(1, text) for text in inputs] + [(2, text) for text in outputs] +
            [(3, name), (4, op)] +
            [(5, [(1, key), (20, 2), (3, value)])
             for key, value in ints.items()] +
            [(5, [(1, key), (20, 3), (4, value)])
             for key, value in texts.items()] +
            [(5, [(1, key), (20, 7)] + [(8, value) for value in values])
             for key, values in lists.items()])


def tensor(name, dims, values, dtype=FLOAT):
    """`values`: numbers; or a dict, the entries of external data."""
    fields = [(1, dim) for dim in dims] + [(2, dtype), (8, name)]
    if isinstance(values, dict):
        fields += [(13, [(1, key), (2, str(value))])
                   for key, value in values.items()]
        return fields + [(14, 1)]
    return fields + [(9, pack(values, dtype))]


def model(nodes, initializers, inputs, outputs):
    graph = ([(1, each) for each in nodes] + [(2, "g")] +
             [(5, each) for each in initializers] +
             [(11, each) for each in inputs] +
             [(12, each) for each in outputs])
    return message([(1, 10), (7, graph), (8, [(1, ""), (2, 18)])])


def linear(weight=None, dims=("n", 4), nodes=None, dtype=FLOAT):
    """loss = mean(x * w), or other nodes on x and w."""
    return model(
        nodes or [node("scale", "Mul", ["x", "w"], ["y"]),
                  node("mean", "ReduceMean", ["y"], ["loss"],
                       {"keepdims": 0})],
        [weight or tensor("w", [4], [1, 2, 3, 4], dtype)],
        [value_info("x", dims, dtype)], [value_info("loss", [], dtype)])
