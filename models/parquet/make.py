"""Wrote the files beside it, with pyarrow 26.0.1: 24 samples of x, four numbers
each, and of labels, in three row groups; and what is wrong in some way."""

import random

import pyarrow as pa
import pyarrow.parquet as pq

draw = random.Random(7)
X = [[draw.randrange(-31, 32) / 32 for _ in range(4)] for _ in range(24)]
LABELS = [i % 3 for i in range(24)]


def write(name, x, labels=LABELS, **options):
    columns = {"text": [f"sample {i}" for i in range(len(LABELS))], "x": x,
               "labels": pa.array(labels, pa.int64())}
    pq.write_table(pa.table(columns), name + ".parquet",
                   **{"row_group_size": 10, "compression": "zstd", **options})


floats = pa.list_(pa.float32())
write("lists", pa.array(X, floats))
write("fixed", pa.array(X, pa.list_(pa.float32(), 4)), compression="snappy")
write("nested", pa.array([[row[:2], row[2:]] for row in X],
                         pa.large_list(floats)), data_page_version="2.0")
write("ragged", pa.array([*X[:20], X[20] + [1.0], *X[21:]], floats))
write("null", pa.array([*X[:20], [0.0, None, 0.0, 0.0], *X[21:]], floats))
write("missing", pa.array(X, floats), [*LABELS[:12], None, *LABELS[13:]])
write("double", pa.array(X, pa.list_(pa.float64())))
