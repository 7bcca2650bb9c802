"""Trains a model with batches in memory.

    python train.py MODEL.onnx WEIGHTS.safetensors

The model has inputs x, float32 [batch, 64], and labels, int64 [batch], as
models/mlp-digits has.
"""

import sys

import numpy as np
import zerograph as zg

SAMPLES, PIXELS, CLASSES, STEPS = 32, 64, 10, 20


def batches(random):
    """Makes images whose brightest row is the label."""
    while True:
        labels = random.integers(0, CLASSES, SAMPLES)
        bright = np.arange(PIXELS) // 6 == labels[:, None]
        x = bright + random.random((SAMPLES, PIXELS), np.float32) / 2
        yield {"x": x.astype(np.float32), "labels": labels}


def main(model, weights):
    loader = batches(np.random.default_rng(1))
    # Two ranks that are threads of this process, and half the states each.
    plan = zg.compile(model, example=next(loader), ranks=2, zero=2)
    print(plan)
    with zg.Trainer(plan) as trainer:
        for i in range(STEPS):
            loss = trainer.step(next(loader), lr=1e-2 * (STEPS - i) / STEPS)
            print(f"step {i + 1}  loss {loss:.6f}  lr {loss.learning_rate:g}")
        trainer.save_weights(weights)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
