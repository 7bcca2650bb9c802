"""How adapters begin in the reference: numbers that anybody can make again."""

import math


def start(name, rank, rows, columns):
    """A [rank, columns] and B [rows, rank]: their values and shapes. B is not
    zero, so that all of a wrong first step shows."""
    seed = sum(name.encode()) % 97
    return [([scale * math.sin(seed + factor * i) for i in range(m * n)],
             (m, n))
            for scale, factor, m, n in ((0.1, 0.7, rank, columns),
                                        (0.02, 1.1, rows, rank))]
