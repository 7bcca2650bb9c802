#!/usr/bin/env python3
"""Compares what plans cost with budgets.json: cost_test.py BIN MODELS
[--update]. README.md says what the figures are."""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

BIN, MODELS = sys.argv[1:3]
BUDGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "budgets.json")
KIB, MIB = 1 << 10, 1 << 20
HOST, CUDA = "host:x86-64-v3", "cuda:sm_90"

GPT = ["--dim", "seq=1024", "--micro-batch", "8"]
LLAMA = ["--dim", "seq=8192", "--micro-batch", "1", "--ranks", "8", "--zero",
         "3"]
STRUCTURES = {
    "gpt2-small": ("structure/gpt2-small.onnx", GPT),
    "gpt2-medium": ("structure/gpt2-medium.onnx", GPT),
    "llama3-8b": ("structure/llama3-8b.onnx", LLAMA),
}
RECOMPUTED = ["--recompute", "units"]

# The name of a case: model and options of `compile`.
CASES = {
    f"{name} {target.split(':')[0]} {precision}{' recomputed' * recomputed}":
        (model, [*options, "--target", target, "--precision", precision,
                 *RECOMPUTED[:2 * recomputed]])
    for name, (model, options) in STRUCTURES.items()
    for target in (HOST, CUDA)
    for precision in ("fp32", "bf16")
    for recomputed in (False, True)
} | {
    f"resnet-mini {target.split(':')[0]} fp32":
        ("resnet-mini/model.onnx", ["--micro-batch", "32", "--target", target,
                                    # The default depends on this machine.
                                    "--convolution", "library"])
    for target in (HOST, CUDA)
}

LESS_IS_BETTER = ("moved", "operations", "launches", "peak", "made_whole",
                  "unnamed", "narrow")


def run(*command):
    result = subprocess.run([os.path.join(BIN, "zerograph"), *command],
                            capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


def moved(step):
    return step["cost"]["read"] + step["cost"]["written"]


def is_made_whole(step):
    """Returns whether a launch makes much of nothing."""
    sizes = {mode: max((access["bytes"] for access in step["accesses"]
                        if access["mode"] == mode), default=0)
             for mode in ("read", "write")}
    return step["op"] == "launch" and sizes["read"] <= 64 * KIB < sizes["write"]


def summary(report):
    """Returns what the table has of a report."""
    steps = report["steps"]
    nodes = collections.Counter()
    for step in steps:
        nodes[step["node"]] += moved(step)
    total = report["costs"]["read"] + report["costs"]["written"]
    found = {
        "moved": total,
        "operations": report["costs"]["operations"],
        "launches": report["costs"]["launches"],
        "made_whole": sum(map(is_made_whole, steps)),
        "unnamed": sum(not step["name"] for step in steps),
    }
    threads = [step["elements_a_thread"] for step in steps
               if "elements_a_thread" in step and moved(step) > MIB]
    if threads:
        found["peak"] = sum(arena["bytes"]
                            for arena in report["memory"]["arenas"]
                            if arena["space"] == "device")
        found["elements_a_thread"] = min(threads)
        found["narrow"] = sum(moved(step) for step in steps
                              if 0 < step.get("narrowest_access", 0) < 16)
    found["nodes"] = {name: count for name, count in sorted(nodes.items())
                      if count * 100 >= total}
    return found


def measure(case):
    model, options = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "x.zgplan")
        run("compile", os.path.join(MODELS, model), "-o", plan, *options)
        return summary(json.loads(run("inspect", plan, "--json")))


def differences(case, budget, found):
    """Returns lines that say what changed, and where."""
    lines = []
    for key in sorted((budget.keys() | found.keys()) - {"nodes"}):
        before, after = budget.get(key, 0), found.get(key, 0)
        if before != after:
            better = (after < before) == (key in LESS_IS_BETTER)
            lines.append(f"{case}: {key} is {after:,}, the table has "
                         f"{before:,}: {'better' if better else 'WORSE'}")
    before, after = (table.get("nodes", {}) for table in (budget, found))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            lines.append(f"{case}: {name} moves {after.get(name, 0):,} bytes, the "
                         f"table has {before.get(name, 0):,}")
    return lines


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        found = dict(zip(CASES, threads.map(measure, CASES)))
    if "--update" in sys.argv[3:]:
        with open(BUDGETS, "w") as file:
            json.dump(found, file, indent=1)
            file.write("\n")
        return
    with open(BUDGETS) as file:
        budgets = json.load(file)
    lines = [line for case in sorted(found.keys() | budgets.keys())
             for line in differences(case, budgets.get(case, {}),
                                     found.get(case, {}))]
    print("\n".join(lines or [f"{len(found)} plans cost what the table says"]))
    if lines:
        sys.exit("If that is meant: tests/cost/cost_test.py BIN MODELS "
                 "--update, and commit the table.")


if __name__ == "__main__":
    main()
