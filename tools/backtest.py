#!/usr/bin/env python3
"""Compares what `simulate` says of plans with how long their steps take.

    backtest.py BIN MACHINE.yaml MODEL.onnx DATA [OPTION...]

MACHINE.yaml is what `zerograph calibrate` measured here. Plans are those of all
stages, 1 and 2 ranks, with and without recomputation, accumulation, 16 bits and
offload; OPTIONs, such as --micro-batch 4, are given to `compile`. Prints for each
the predicted and the measured median in ms, then the mean error, the largest, and
how many pairs that differ by more than 5 % are in the right order.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

STEPS, WARM_UP = 12, 2


def plans():
    """Yields the options of each plan."""
    for ranks, recompute, accumulate, precision in itertools.product(
            (1, 2), ("none", "units"), (1, 4), ("fp32", "bf16")):
        for stage in (0,) if ranks == 1 else (0, 1, 2, 3):
            for offload in ("none", "cpu") if stage else ("none",):
                yield ["--ranks", str(ranks), "--zero", str(stage),
                       "--recompute", recompute, "--accumulate",
                       str(accumulate), "--precision", precision,
                       "--offload-optimizer", offload]


def measure(zerograph, machine, model, data, options, folder):
    """Returns a step's predicted and measured milliseconds."""
    plan, log = (os.path.join(folder, name) for name in ("plan", "log"))

    def run(*arguments):
        return subprocess.run([zerograph, *arguments], check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    run("compile", model, "-o", plan, *options)
    predicted = json.loads(run("simulate", plan, "--machine", machine, "--json"))
    run("train", plan, "--data", data, "--steps", str(STEPS), "--log", log,
        "--init-missing", "normal:0.02", "--quiet")
    with open(log, encoding="utf-8") as lines:
        times = [json.loads(line)["step_ms"] for line in lines]
    os.remove(log)
    return predicted["step_seconds"] * 1e3, statistics.median(times[WARM_UP:])


def main():
    binaries, machine, model, data, *given = sys.argv[1:]
    zerograph = os.path.join(binaries, "zerograph")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for options in plans():
            predicted, measured = measure(zerograph, machine, model, data,
                                          options + given, folder)
            results.append((predicted, measured))
            print(f"{predicted:9.2f} {measured:9.2f} "
                  f"{100 * (predicted / measured - 1):+6.1f} %  "
                  f"{' '.join(options)}", flush=True)
    errors = [abs(predicted / measured - 1) for predicted, measured in results]
    pairs = [(a, b) for a, b in itertools.combinations(results, 2)
             if abs(a[1] / b[1] - 1) > 0.05]
    right = sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)
    print(f"{len(results)} plans: mean error {100 * statistics.mean(errors):.1f} "
          f"%, largest {100 * max(errors):.1f} %; {right} of {len(pairs)} pairs "
          "in the right order")


if __name__ == "__main__":
    main()
