"""Writes a checkpoint in DeepSpeed's universal layout."""

from __future__ import annotations

import collections
import os

from ._checkpoint import Checkpoint, Tensor
from ._files import whole_file, whole_folder
from ._library import InvalidArgument, warn
from ._torch_files import save
from ._universal import LATEST, MODEL_STATES, OPTIMIZER_STATE, file_of
from .names import Names

#: The version of DeepSpeed that has this layout; its readers want to know.
_VERSION = "0.19.8"


def _problem(tensor: Tensor, names: Names) -> str | None:
    name = names.of(tensor.parameter)
    if tensor.type not in ("F32", "F16", "BF16"):
        return (f"{tensor} is of {tensor.type}, and DeepSpeed keeps all in "
                "float32")
    if name.name in ("", ".", "..") or len(name.name) > 255 or (
            set("/\0") & set(name.name)):
        return (f"{tensor} would be in a folder '{name.name}', which none can "
                "be called; names= gives it another name")
    if name.transposed and len(tensor.shape) != 2:
        return (f"{tensor} is transposed in names, which only a matrix can be: "
                f"its shape is {tensor.shape}")
    return None


def _by_parameter(checkpoint: Checkpoint,
                  names: Names) -> dict[str, list[Tensor]]:
    """Returns the tensors of each parameter, by DeepSpeed's names."""
    found = collections.defaultdict(list)
    problems = []
    for tensor in checkpoint.tensors:
        problem = _problem(tensor, names)
        same = found[names.of(tensor.parameter).name]
        if same and same[0].parameter != tensor.parameter:
            problem = (f"'{same[0].parameter}' and '{tensor.parameter}' would "
                       f"both be '{names.of(tensor.parameter).name}'")
        if problem:
            problems.append(problem)
        same.append(tensor)
    if problems:
        raise InvalidArgument(
            f"{checkpoint.path} cannot be written in DeepSpeed's universal "
            "layout:\n  " + "\n  ".join(dict.fromkeys(problems)))
    return dict(sorted(found.items()))


def _write_all(checkpoint: Checkpoint, parameters: dict[str, list[Tensor]],
               names: Names, torch_optimizer: bool, folder: str) -> None:
    import torch

    run = checkpoint.run
    count = torch.tensor(float(run["updates"]))
    for name, tensors in parameters.items():
        own = os.path.join(folder, "zero", name)
        os.makedirs(own)
        for tensor in tensors:
            values = names.turn(tensor.parameter, checkpoint.read(tensor))
            save({"param": values.float()},
                 os.path.join(own, file_of(tensor.role) + ".pt"))
        if any(tensor.role != "values" for tensor in tensors):
            save(count, os.path.join(own, "step.pt"))
    # Nothing is said of rates: those of DeepSpeed's configuration stay. ZeRO 1
    # and 2 load as many groups as there are here, so there is one for each
    # parameter; no run has more. ZeRO 3 reads the dictionary in it, and gives
    # all groups the same count: of a tensor each counts what all have made;
    # numbers are each group's own.
    save({"ds_version": _VERSION,
          "param_groups": [{} for _ in parameters],
          "optimizer_state_dict": {
              "state": {0: {"step": count if torch_optimizer
                            else run["updates"]}},
              "param_groups": [{}]}},
         os.path.join(folder, OPTIMIZER_STATE))
    for name in MODEL_STATES:
        save({"dp_world_size": 1, "mp_world_size": 1,
              "global_steps": run["steps"],
              "global_samples": run["steps"] * run["samples_per_step"],
              "skipped_steps": run["steps"] - run["updates"],
              "ds_version": _VERSION,
              # DeepSpeed's schedules count updates from 0, PyTorch's are not
              # told.
              "lr_scheduler": {"last_batch_iteration": run["updates"] - 1}},
             os.path.join(folder, name))


def _warn_of_writing(checkpoint: Checkpoint,
                     parameters: dict[str, list[Tensor]]) -> None:
    alone = sum(all(one.role == "values" for one in tensors)
                for tensors in parameters.values())
    if 0 < alone < len(parameters):
        warn(
            f"{alone} parameters and running statistics that no optimizer "
            "updates have only fp32.pt, which DeepSpeed does not load: give the "
            "model its weights by load_state_dict before")
    if "loss_scale" in checkpoint.run:
        warn("the loss scale is not written: it begins anew, as DeepSpeed's "
             "configuration says")


def write(checkpoint: Checkpoint, folder: str, names: Names,
          torch_optimizer: bool) -> str:
    """Writes a checkpoint to a folder, which then names it as the newest, and
    returns its path. It has its name only when it is whole."""
    parameters = _by_parameter(checkpoint, names)
    tag = f"step-{checkpoint.run['steps']:08}"
    path = os.path.join(folder, tag)
    if os.path.exists(os.path.join(folder, "index.json")):
        raise InvalidArgument(f"{folder}: it is a checkpoint: choose another "
                              "folder")
    if os.path.exists(path):
        raise InvalidArgument(f"{path}: there is such a checkpoint already: "
                              "move it away")
    with whole_folder(path) as writing:
        _write_all(checkpoint, parameters, names, torch_optimizer, writing)
    with whole_file(os.path.join(folder, LATEST)) as latest:
        with open(latest, "w", encoding="utf-8") as file:
            file.write(tag)
    _warn_of_writing(checkpoint, parameters)
    return path
