"""Zerograph's checkpoints, as docs/checkpoints.md describes them."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import subprocess
from typing import Any

import numpy as np

from ._arrays import empty
from ._library import Error, home, in_python

_INDEX = "index.json"


def steps_in(folder: str) -> list[str]:
    """Returns the names of a folder's checkpoints, the newest last."""
    return sorted((name for name in os.listdir(folder)
                   if re.fullmatch(r"step-\d{8,}", name) and
                   os.path.isdir(os.path.join(folder, name))),
                  key=lambda name: int(name[5:]))


def newest(path: str) -> str:
    """Returns the newest checkpoint in a folder, or the folder itself."""
    if os.path.exists(os.path.join(path, _INDEX)):
        return path
    steps = steps_in(path)
    if not steps:
        raise Error(f"{path}: there is no checkpoint in it")
    return os.path.join(path, steps[-1])


@dataclasses.dataclass
class Tensor:
    """A parameter, or what the optimizer keeps of it."""

    parameter: str
    role: str  # "values", or of a state "exp_avg", ...
    type: str  # as .safetensors files have it
    shape: list[int]
    pieces: list[dict]

    def __str__(self) -> str:
        return f"'{self.parameter}' ({self.role})"


class Checkpoint:
    """A checkpoint whose bytes were compared with what was written."""

    def __init__(self, path: str | os.PathLike):
        self.path = newest(os.fspath(path))
        done = subprocess.run(
            [str(home() / "bin" / "zerograph"), "checkpoint", "verify",
             self.path], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Error(in_python(done.stderr.strip()))
        with open(os.path.join(self.path, _INDEX), encoding="utf-8") as file:
            #: Says where the run is.
            self.run: dict[str, Any] = json.load(file)
        self._files = [one["name"] for one in self.run.pop("files")]
        #: All tensors; of what each rank has its own, as running statistics,
        #: rank 0's.
        self.tensors = [
            Tensor(one["name"],
                   "values" if one["role"] in ("param", "master")
                   else one["role"],
                   one["type"], one["shape"], one["pieces"])
            for one in self.run.pop("tensors") if one.get("rank", 0) == 0]

    def read(self, tensor: Tensor):
        """Returns a tensor of PyTorch."""
        import torch

        array = empty(tensor.type, [math.prod(tensor.shape)])
        for piece in tensor.pieces:
            first, count = piece["first"], piece["elements"]
            array[first:first + count] = np.fromfile(
                os.path.join(self.path, self._files[piece["file"]]),
                array.dtype, count, offset=piece["offset"])
        if tensor.type == "BF16":  # numpy has its bits
            found = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        else:
            found = torch.from_numpy(array)
        return found.reshape(tensor.shape)
