"""Files that torch.save wrote, and folders of Hugging Face's transformers.

Nothing in a file is executed: torch.load(weights_only=True) reads it.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from typing import Any

from ._library import Error, InvalidArgument

#: The files of a folder that save_pretrained wrote, and of one in several parts
#: the file that lists these; the first that is there is read.
_PRETRAINED = ["model.safetensors", "model.safetensors.index.json",
               "pytorch_model.bin", "pytorch_model.bin.index.json"]

#: The entries of a checkpoint that hold a state_dict: Lightning's, those of
#: PyTorch's tutorials, DeepSpeed's.
_STATE_DICTS = ["state_dict", "model_state_dict", "model", "module"]


def _reason(error: Exception) -> str:
    """Returns what is wrong, of the page of advice that PyTorch gives: it is
    the line before the last paragraph."""
    text = str(error).split("\n\nCheck the documentation")[0].strip()
    line = text.split("\n")[-1].split(". Please use")[0].strip(" \t.")
    return line.replace("WeightsUnpickler error: ", "") or type(error).__name__


def read(path: str | os.PathLike, classes: list = ()) -> Any:
    """Returns what torch.save wrote. Tensors stay in the file until they are
    used. `classes` are pairs of a class and the name that objects of it may have
    in the file."""
    import zipfile

    import torch

    path = os.fspath(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        with torch.serialization.safe_globals(list(classes)):
            return torch.load(path, map_location="cpu", weights_only=True,
                              mmap=zipfile.is_zipfile(path))
    except pickle.UnpicklingError as error:
        raise InvalidArgument(
            f"{path}: torch.load(weights_only=True) refuses it: "
            f"{_reason(error)}. Nothing in it was executed. Save the "
            "state_dict() alone; or, if you trust who wrote the file, name the "
            "class in torch.serialization.add_safe_globals") from error
    except Exception as error:  # of broken bytes it may raise any
        raise InvalidArgument(f"{path}: torch.load cannot read it: "
                              f"{_reason(error)}") from error


def save(value: Any, path: str) -> None:
    """Calls torch.save, whose errors do not name the file."""
    import torch

    try:
        torch.save(value, path)
    except (RuntimeError, OSError) as error:
        raise Error(f"{path}: torch.save cannot write it, as where a disk is "
                    f"full: {_reason(error)}") from error


def state_dict(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the tensors by name that torch.save wrote, or those of the
    state_dict in a checkpoint."""
    import torch

    found = read(path)
    if isinstance(found, Mapping):
        inner = [found[key] for key in _STATE_DICTS
                 if isinstance(found.get(key), Mapping)]
        found = inner[0] if len(inner) == 1 else found
    if not isinstance(found, Mapping):
        raise InvalidArgument(f"{path}: it holds a {type(found).__name__}, "
                              "expected a dictionary of tensors by name")
    for name, value in found.items():
        if not isinstance(value, torch.Tensor):
            raise InvalidArgument(
                f"{path}: '{name}' is a {type(value).__name__}, expected a "
                "tensor: torch.save a dictionary of tensors, as state_dict() "
                "is")
    return dict(found)


def _of_file(path: str) -> dict[str, Any]:
    if not path.endswith(".safetensors"):
        return state_dict(path)
    try:
        from safetensors.torch import load_file
    except ImportError:
        raise ImportError(f"{path}: to read it in Python, install the package "
                          "safetensors") from None
    return load_file(path)


def weights(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the tensors of a file, or of a folder that save_pretrained
    wrote."""
    path = os.fspath(path)
    if not os.path.isdir(path):
        return _of_file(path)
    name = next((one for one in _PRETRAINED
                 if os.path.exists(os.path.join(path, one))), None)
    if name is None:
        raise InvalidArgument(f"{path}: it has none of {', '.join(_PRETRAINED)}")
    if not name.endswith(".json"):
        return _of_file(os.path.join(path, name))
    try:
        with open(os.path.join(path, name), encoding="utf-8") as file:
            index = json.load(file)
    except ValueError as error:
        raise InvalidArgument(f"{path}/{name}: {error}") from error
    parts = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(parts, dict):
        raise InvalidArgument(f"{path}/{name}: it has no 'weight_map'")
    found = {}
    for part in sorted(set(parts.values())):
        found.update(_of_file(os.path.join(path, os.path.basename(part))))
    return found


def is_theirs(path: Any) -> bool:
    """Tells whether this is the path of weights that the library leaves to this
    module."""
    return isinstance(path, (str, os.PathLike)) and (
        os.path.isdir(path) or
        os.fspath(path).endswith((".pt", ".pth", ".bin")))
