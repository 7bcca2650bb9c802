"""Loads and writes universal checkpoints with DeepSpeed, on processors.

    deepspeed_peer.py SETTINGS.json

A program of its own, since it may need another Python. SETTINGS are `main`'s arguments. The environment says which rank this is, as for
PyTorch.
"""

import json
import sys

import deepspeed
import torch
from deepspeed.utils import (safe_get_full_fp32_param,
                             safe_get_full_optimizer_state)

from conv1d import Conv1D
from tensors import read_tensors, write_tensors

TYPES = {"F32": torch.float32, "I64": torch.int64}


def read_arrays(path):
    return {name: torch.frombuffer(bytearray(data),
                                   dtype=TYPES[dtype]).reshape(shape)
            for name, (dtype, shape, data) in read_tensors(path).items()}


def write_arrays(path, arrays):
    write_tensors(path, {
        name: ("F32", list(array.shape),
               array.detach().float().contiguous().numpy().tobytes())
        for name, array in arrays.items()})


class Net(torch.nn.Module):
    """mlp-digits, with names of its own and one matrix the other way round."""

    def __init__(self):
        super().__init__()
        self.first = Conv1D(64, 128)
        self.last = torch.nn.Linear(128, 10)

    def forward(self, x, labels):
        return torch.nn.functional.cross_entropy(
            self.last(torch.relu(self.first(x))), labels)


def main(stage, groups, lr, data, first, steps, batch, load=None, save=None,
         dump=None, bf16=False, scheduler=False, own=False,
         kind="adamw", keys=("exp_avg", "exp_avg_sq")):
    """An engine of ZeRO `stage` loads the universal checkpoint in `load`, if
    that is given, trains `steps` steps of `batch` samples from step `first` on,
    and writes a checkpoint to `save`, if that is given. `dump`: what it has
    loaded, or trained without loading. `own`: its own optimizer, not PyTorch's;
    `kind` and `keys`: which of these, and what it keeps.
    Prints losses and what it counts."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Net()
    parameters = list(model.parameters())
    if groups == 2:
        parameters = [{"params": [p for p in parameters if p.dim() > 1],
                       "weight_decay": 0.01},
                      {"params": [p for p in parameters if p.dim() == 1],
                       "weight_decay": 0.0}]
    optimizer = None if own else {
        "adamw": lambda: torch.optim.AdamW(parameters, lr=lr,
                                           weight_decay=0.01),
        "adagrad": lambda: torch.optim.Adagrad(parameters, lr=lr),
        "sgd": lambda: torch.optim.SGD(parameters, lr=lr, momentum=0.9),
    }[kind]()
    config = {"train_micro_batch_size_per_gpu": batch,
              "gradient_clipping": 0.0, "zero_optimization": {"stage": stage},
              "zero_allow_untested_optimizer": True,
              "zero_force_ds_cpu_optimizer": False,
              "bf16": {"enabled": bf16},
              "checkpoint": {"load_universal": load is not None}}
    if own:
        config["optimizer"] = {"type": "AdamW", "params": {
            "lr": lr, "weight_decay": 0.01}}
    if scheduler:
        config["scheduler"] = {"type": "WarmupLR", "params": {
            "warmup_min_lr": 0, "warmup_max_lr": lr, "warmup_num_steps": 10,
            "warmup_type": "linear"}}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer,
                                      model_parameters=parameters,
                                      config=config)
    result = {"losses": []}
    if load:
        path, _ = engine.load_checkpoint(load)
        result["path"] = path
        result["rates_loaded"] = engine.get_lr()
    arrays = read_arrays(data)

    def state():
        found = {}
        for name, parameter in model.named_parameters():
            found[name + ".fp32"] = safe_get_full_fp32_param(parameter)
            for key in keys:
                found[f"{name}.{key}"] = safe_get_full_optimizer_state(
                    parameter, key)
        return found

    if load and dump:
        loaded = state()  # all ranks together
        if engine.global_rank == 0:
            write_arrays(dump, loaded)
    for step in range(first, first + steps):
        rows = slice(step * batch, (step + 1) * batch)
        x = arrays["x"][rows]
        loss = engine(x.bfloat16() if bf16 else x, arrays["labels"][rows])
        engine.backward(loss)
        engine.step()
        result["losses"].append(loss.item())
    if not load and dump:
        write_arrays(dump, state())
    result["steps"] = engine.global_steps
    result["skipped"] = engine.skipped_steps
    result["rates"] = engine.get_lr()
    result["counts"] = sorted({float(each["step"]) for each
                               in engine.optimizer.optimizer.state.values()
                               if "step" in each})
    if save:
        # ds_to_universal.py wants it.
        model.universal_checkpoint_info = {"universal_checkpoint_version": 0.2}
        engine.save_checkpoint(save, tag="saved")
    print("result: " + json.dumps(result))


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        main(**json.load(file))
