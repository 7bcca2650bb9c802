"""Writes reference.json: the rates that other programs' schedules give.

    make_reference.py LR_SCHEDULES.py COMMIT > reference.json

needs PyTorch and transformers, and from DeepSpeed's repository the file
deepspeed/runtime/lr_schedules.py, at COMMIT. Each case has the rates of the
first updates as the optimizer sees them, and our numbers for the same schedule.
No test runs this.
"""

import importlib.util
import json
import logging
import sys
import types
import warnings

import torch
import transformers
from torch.optim import lr_scheduler as pytorch

UPDATES = 400


def load_deepspeed(path):
    """The module alone; all it needs of DeepSpeed is a logger."""
    package, utils = types.ModuleType("deepspeed"), types.ModuleType("utils")
    utils.logger = logging.getLogger("deepspeed")
    utils.logger.setLevel(logging.ERROR)
    sys.modules["deepspeed"], sys.modules["deepspeed.utils"] = package, utils
    spec = importlib.util.spec_from_file_location("lr_schedules", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rates(lr, make, of=lambda group: group["lr"]):
    """What the optimizer has at each update; the schedule steps behind it."""
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedule = make(optimizer)
    result = []
    for _ in range(UPDATES):
        result.append(float(of(optimizer.param_groups[0])))
        optimizer.step()
        schedule.step()
    return result


def closed(lr, make):
    """A schedule of PyTorch's by its closed form, which does not add up the
    errors of the steps before."""
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedule = make(optimizer)
    result = []
    for update in range(UPDATES):
        schedule.last_epoch = update
        result.append(schedule._get_closed_form_lr()[0])
    return result


def main():
    warnings.simplefilter("ignore")
    deepspeed = load_deepspeed(sys.argv[1])
    lr = 3e-4
    cases = []

    def add(origin, found, kind, tolerance=0.0, **numbers):
        cases.append({"origin": origin, "tolerance": tolerance, "lr": lr,
                      "schedule": {"kind": kind, **numbers}, "rates": found})

    def deepspeeds(name, kind, theirs, **numbers):
        def make(optimizer):
            return getattr(deepspeed, name)(optimizer, **theirs)

        add(f"DeepSpeed {name}", rates(lr, make), kind, **numbers)
        if name == "OneCycle":
            cases[-1]["beta1"] = rates(lr, make, lambda o: o["betas"][0])

    for steps, shape in (100, "log"), (100, "linear"), (1, "log"):
        deepspeeds("WarmupLR", "warmup",
                   dict(warmup_min_lr=1e-5, warmup_max_lr=lr,
                        warmup_num_steps=steps, warmup_type=shape),
                   warmup_steps=steps, warmup_type=shape, warmup_min_lr=1e-5)
    for total, shape in (300, "log"), (300, "linear"), (50, "linear"):
        deepspeeds("WarmupDecayLR", "warmup-decay",
                   dict(total_num_steps=total, warmup_min_lr=1e-6,
                        warmup_max_lr=lr, warmup_num_steps=100,
                        warmup_type=shape),
                   total_steps=total, warmup_steps=100, warmup_type=shape,
                   warmup_min_lr=1e-6)
        deepspeeds("WarmupCosineLR", "warmup-cosine",
                   dict(total_num_steps=total, warmup_min_ratio=0.1,
                        warmup_num_steps=100, warmup_type=shape,
                        cos_min_ratio=0.003),
                   total_steps=total, warmup_steps=100, warmup_type=shape,
                   warmup_min_ratio=0.1, cosine_min_ratio=0.003)
    for up, down, stairs, decay in ((70, 110, 0, 0), (70, 110, 0, 10),
                                    (90, 90, 7, 3), (130, 50, 5, 0),
                                    (50, 0, 0, 10)):
        deepspeeds("OneCycle", "one-cycle",
                   dict(cycle_min_lr=1e-5, cycle_max_lr=lr,
                        cycle_first_step_size=up, cycle_second_step_size=down,
                        cycle_first_stair_count=stairs,
                        cycle_second_stair_count=stairs and stairs + 2,
                        decay_step_size=decay, decay_lr_rate=0.3,
                        cycle_min_mom=0.82, cycle_max_mom=0.93),
                   cycle_min_momentum=0.82, cycle_max_momentum=0.93,
                   cycle_min_lr=1e-5, cycle_up=up, cycle_down=down,
                   cycle_up_stairs=stairs,
                   cycle_down_stairs=stairs and stairs + 2,
                   cycle_decay_steps=decay, cycle_decay_rate=0.3)

    hugging = transformers.optimization
    for warmup in 0, 30:
        add("transformers constant_with_warmup",
            rates(lr, lambda o: hugging.get_constant_schedule_with_warmup(
                o, warmup)), "constant", warmup_steps=warmup)
        add("transformers linear",
            rates(lr, lambda o: hugging.get_linear_schedule_with_warmup(
                o, warmup, 350)), "linear", warmup_steps=warmup,
            total_steps=350)
        # The cosines would rise again after their end.
        add("transformers cosine",
            rates(lr, lambda o: hugging.get_cosine_schedule_with_warmup(
                o, warmup, UPDATES)), "cosine", warmup_steps=warmup,
            total_steps=UPDATES)
        add("transformers cosine_with_min_lr",
            rates(lr, lambda o:
                  hugging.get_cosine_with_min_lr_schedule_with_warmup(
                      o, warmup, UPDATES, min_lr=2e-5)), "cosine",
            warmup_steps=warmup, total_steps=UPDATES, min_lr=2e-5)

    step = dict(step_size=7, gamma=0.93)
    add("PyTorch StepLR, closed form",
        closed(lr, lambda o: pytorch.StepLR(o, **step)), "step", step_size=7,
        step_gamma=0.93)
    # PyTorch makes each rate of the one before: errors add up.
    add("PyTorch StepLR", rates(lr, lambda o: pytorch.StepLR(o, **step)),
        "step", 1e-13, step_size=7, step_gamma=0.93)
    add("PyTorch LinearLR",
        rates(lr, lambda o: pytorch.LinearLR(o, 1, 0.25, 350)), "linear",
        1e-12, total_steps=350, min_lr=lr / 4)
    add("PyTorch CosineAnnealingLR",
        rates(lr, lambda o: pytorch.CosineAnnealingLR(o, UPDATES, 2e-5)),
        "cosine", 1e-10, total_steps=UPDATES, min_lr=2e-5)

    origin = (f"PyTorch {torch.__version__}, transformers "
              f"{transformers.__version__}, DeepSpeed's lr_schedules.py of "
              f"commit {sys.argv[2]}, by make_reference.py")
    lines = ",\n".join(json.dumps(case) for case in cases)
    print(f'{{"origin": {json.dumps(origin)},\n"cases": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
