"""The batches of a file, for trainers."""

import numpy as np
from support import read_tensors

NUMPY = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}


def arrays(path):
    """The arrays of a .safetensors file, by name."""
    return {name: np.frombuffer(data, NUMPY[kind]).reshape(shape)
            for name, (kind, shape, data) in read_tensors(path).items()}


def batches(data, plan):
    """The batches that the command takes from a file, one step after another."""
    rows = plan.samples
    total = len(next(iter(data.values())))
    for begin in range(0, total - rows + 1, rows):
        yield {name: array[begin:begin + rows] for name, array in data.items()}
