"""Writes reference.txt: the loss scales that DeepSpeed's scaler goes through.

    make_reference.py LOSS_SCALER.py COMMIT > reference.txt

needs from DeepSpeed's repository the file deepspeed/runtime/fp16/loss_scaler.py,
at COMMIT, of which it runs the class DynamicLossScaler alone. Each line is a
run: power of the initial scale, window, hysteresis, consecutive_hysteresis,
minimum; its steps, 1 where gradients overflowed; the power of the scale behind
each of them, as POWERxSTEPS. A run that DeepSpeed ends has "end" behind it.
No test runs this.
"""

import ast
import itertools
import logging
import math
import random
import sys
import types

RUNS, STEPS = 1000, 60


def load_scaler(path):
    module = ast.parse(open(path).read())
    wanted = {"LossScalerBase", "DynamicLossScaler"}
    module.body = [node for node in module.body
                   if isinstance(node, ast.ClassDef) and node.name in wanted]
    names = {"DeepSpeedConfigObject": object,
             "torch": types.SimpleNamespace(half="half"),
             "dist": types.SimpleNamespace(get_rank=lambda: 1),
             "logger": logging.getLogger("deepspeed")}
    exec(compile(module, path, "exec"), names)
    return names["DynamicLossScaler"]


def main():
    scaler = load_scaler(sys.argv[1])
    print(f"# DynamicLossScaler of DeepSpeed at {sys.argv[2]}")
    chance = random.Random(0)
    for _ in range(RUNS):
        power = chance.choice([2, 4, 16])
        window, hysteresis = chance.randint(1, 8), chance.randint(1, 4)
        consecutive = chance.random() < 0.5
        minimum = chance.choice([-2, 0, 1])
        often = chance.choice([0.05, 0.3, 0.7])
        theirs = scaler(init_scale=2.0**power, scale_window=window,
                        min_scale=2.0**minimum, delayed_shift=hysteresis,
                        consecutive_hysteresis=consecutive)
        steps, powers, end = "", [], ""
        for _ in range(STEPS):
            overflow = chance.random() < often
            steps += "01"[overflow]
            try:
                theirs.update_scale(overflow)
            except Exception:  # their class
                end = " end"
                break
            powers.append(int(math.log2(theirs.cur_scale)))
        runs = ",".join(f"{value}x{len(list(same))}"
                        for value, same in itertools.groupby(powers))
        print(power, window, hysteresis, int(consecutive), minimum, steps,
              (runs or "-") + end)


if __name__ == "__main__":
    main()
