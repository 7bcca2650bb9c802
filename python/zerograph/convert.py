"""Converts between Zerograph's files and those of PyTorch and DeepSpeed.

    zerograph.convert.torch_to_safetensors("state.pt", "state.safetensors")
    zerograph.convert.checkpoint_to_torch("checkpoints", "weights.pt",
                                          names="model.names.json")
    zerograph.convert.checkpoint_to_deepspeed("checkpoints", "universal")
    zerograph.convert.deepspeed_to_checkpoint("universal", plan, "checkpoints")

It needs torch, and safetensors for the files of that name that it reads. Nothing
in a file is executed. What is written has its name only when it is whole.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, Union

from ._adopt_universal import Adoption
from ._arrays import write_arrays
from ._checkpoint import Checkpoint
from ._files import whole_file
from ._library import InvalidArgument
from ._plan import Plan, load
from ._read_universal import Universal
from ._torch_files import save
from ._torch_files import weights as _weights
from ._write_universal import write as _write_universal
from .names import Names

_PathLike = Union[str, os.PathLike]
#: Names of tensors: a file that zerograph.names wrote, or what it holds.
_Names = Union[_PathLike, Mapping[str, Any], None]


def torch_to_safetensors(source: _PathLike, target: _PathLike) -> None:
    """Writes tensors as .safetensors, by their names and in their types: those
    of a file of torch.save, of the state_dict in a checkpoint of PyTorch, or of
    a folder that save_pretrained wrote."""
    found = _weights(source)
    with whole_file(target) as path:
        write_arrays(path, found, os.fspath(source))


def checkpoint_to_torch(source: _PathLike, target: _PathLike,
                        names: _Names = None, type: str | None = None) -> None:
    """Writes the parameters of a checkpoint, or of the newest in a folder, for
    torch.load and load_state_dict: as the optimizer has them, and running
    statistics of rank 0. Adapters are there by themselves. All of them are in
    memory at once.

    - `names` says what state_dict() calls them, as `zerograph.names` writes it:
      a file, or what such a file holds.
    - `type` rounds those of another type to "F32", "F16" or "BF16".
    """
    import torch

    types = {None: None, "F32": torch.float32, "F16": torch.float16,
             "BF16": torch.bfloat16}
    if type not in types:
        raise InvalidArgument(f"type='{type}': expected F32, F16 or BF16")
    checkpoint, names = Checkpoint(source), Names(names)
    parameters = [one.parameter for one in checkpoint.tensors]
    names.check_unique(parameters)
    names.warn_of_others(parameters)
    found = {}
    for tensor in checkpoint.tensors:
        if tensor.role == "values":
            value = names.turn(tensor.parameter, checkpoint.read(tensor))
            if type and value.is_floating_point() and value.itemsize <= 4:
                value = value.to(types[type])
            found[names.of(tensor.parameter).name] = value
    with whole_file(target) as path:
        save(found, path)


def checkpoint_to_deepspeed(source: _PathLike, target: _PathLike,
                            names: _Names = None,
                            torch_optimizer: bool = False) -> str:
    """Writes a checkpoint, or the newest in a folder, in DeepSpeed's universal
    layout into the folder `target`, and returns its path. DeepSpeed loads it
    where its configuration says {"checkpoint": {"load_universal": true}}.

    - `names` says what state_dict() calls the parameters, as in
      checkpoint_to_torch.
    - `torch_optimizer` is for ZeRO 3 with an optimizer of torch.optim instead of
      one of DeepSpeed's own.
    """
    checkpoint, names = Checkpoint(source), Names(names)
    names.warn_of_others(one.parameter for one in checkpoint.tensors)
    return _write_universal(checkpoint, os.fspath(target), names,
                            torch_optimizer)


def deepspeed_to_checkpoint(source: _PathLike, plan: Plan | _PathLike,
                            target: _PathLike, names: _Names = None,
                            load_weights: Mapping[str, Any] | _PathLike | None
                            = None,
                            seed: int = 0,
                            shuffle: int | None = None) -> str:
    """Makes a checkpoint in the folder `target` from one of DeepSpeed in the
    universal layout, and returns its path: runs of the plan, or of another for
    the same model and optimizer, go on from it by resume=target.

    - `names` says what state_dict() calls the parameters, as in
      checkpoint_to_torch.
    - `load_weights` has parameters that DeepSpeed did not save, since it does
      not train them: arrays by state_dict's names, or a file of them.
    - `seed` and `shuffle` are those that the run goes on with: DeepSpeed's file
      has none.
    """
    plan = plan if isinstance(plan, Plan) else load(plan)
    universal, names = Universal(source), Names(names)
    if load_weights is not None and not isinstance(load_weights, Mapping):
        load_weights = _weights(load_weights)
    adoption = Adoption(universal, names, load_weights or {})
    found = {entry["name"]: adoption.find(entry)
             for entry in plan.checkpoint_arrays}
    adoption.check()
    names.warn_of_others(entry["parameter"] for entry in plan.checkpoint_arrays)
    written = plan.write_checkpoint(
        target, found, steps=universal.steps, updates=universal.updates,
        seed=seed, shuffle=shuffle, loss_scale=universal.loss_scale,
        samples_per_step=universal.samples_per_step)
    logging.getLogger("zerograph").info(
        "%s: %d tensors of %s, after %d steps and %d updates; %d of "
        "load_weights", written, len(found), universal.path, universal.steps,
        universal.updates, adoption.of_weights)
    return written
