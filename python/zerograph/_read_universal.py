"""Reads a checkpoint in DeepSpeed's universal layout."""

from __future__ import annotations

import math
import os
from typing import Any

from ._library import InvalidArgument
from ._torch_files import read
from ._universal import LATEST, MODEL_STATES, OPTIMIZER_STATE


class _Object:
    """An object of DeepSpeed's that nothing is read of."""

    def __init__(self, *_):
        pass


class _LossScaler(_Object):
    """deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler"""


_CLASSES = [
    (_LossScaler, "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler"),
    (_Object, "deepspeed.runtime.fp16.loss_scaler.LossScaler"),
    (_Object, "deepspeed.runtime.zero.config.ZeroStageEnum"),
]


def _folder_of(path: str) -> str:
    """Returns the folder of the checkpoint that is meant."""
    def is_one(folder):
        return os.path.exists(os.path.join(folder, OPTIMIZER_STATE))

    if is_one(path):
        return path
    latest = os.path.join(path, LATEST)
    if not os.path.exists(latest):
        if os.path.exists(os.path.join(path, "latest")):
            raise InvalidArgument(
                f"{path}: it is a checkpoint of DeepSpeed, and not in the "
                "universal layout, which DeepSpeed makes of it: python -m "
                "deepspeed.checkpoint.ds_to_universal --inject_missing_state "
                f"--input_folder {path}/TAG --output_folder UNIVERSAL/TAG")
        raise InvalidArgument(f"{path}: it has neither {OPTIMIZER_STATE} nor "
                              f"{LATEST}: it is no universal checkpoint")
    with open(latest, encoding="utf-8") as file:
        tag = file.read().strip()
    folder = os.path.join(path, tag)
    if not tag or tag == ".." or "/" in tag or not is_one(folder):
        raise InvalidArgument(
            f"{latest} names '{tag}', which is no universal checkpoint in "
            f"{path}: it has no {OPTIMIZER_STATE}")
    return folder


def _count(path: str, value: Any) -> int:
    """Returns an optimizer's count: a number, or a tensor of one."""
    number = value.item() if getattr(value, "numel", lambda: 0)() == 1 else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not (
            0 <= number < 1 << 60 and number == int(number)):
        raise InvalidArgument(f"{path}: it counts no updates: it holds a "
                              f"{type(value).__name__}")
    return int(number)


class _Fields:
    """The entries of a dictionary in a file, checked."""

    def __init__(self, path: str, entries: dict[str, Any]):
        self._path = path
        self._entries = entries

    def number(self, key: str, default: int | None = None,
               least: int = 0) -> int:
        value = self._entries.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or (
                not least <= value < 1 << 60):
            raise InvalidArgument(f"{self._path}: it has no number '{key}'")
        return value

    def real(self, key: str) -> float:
        value = self._entries.get(key)
        if not isinstance(value, (int, float)) or not 0 < value < math.inf:
            raise InvalidArgument(f"{self._path}: it has no number '{key}' "
                                  "above 0")
        return float(value)

    def inner(self, *keys) -> dict:
        """Returns a dictionary in dictionaries; empty where there is none."""
        found = self._entries
        for key in keys:
            found = found.get(key)
            if not isinstance(found, dict):
                return {}
        return found


class Universal:
    """A checkpoint of DeepSpeed."""

    def __init__(self, path: str | os.PathLike):
        self.path = _folder_of(os.fspath(path))
        zero = os.path.join(self.path, "zero")
        #: What there is of each parameter: "fp32", "exp_avg", ...
        self.files = {
            name: {one[:-3] for one in os.listdir(os.path.join(zero, name))
                   if one.endswith(".pt")}
            for name in sorted(os.listdir(zero))
            if os.path.isdir(os.path.join(zero, name))}
        self.loss_scale: dict[str, Any] | None = None
        self.samples_per_step: int | None = None
        self._read_model_states()
        self._read_optimizer_state()
        self._read_counts()
        if self.updates > self.steps:
            raise InvalidArgument(
                f"{self.path}: the optimizer has made {self.updates} updates in "
                f"{self.steps} steps")

    def tensor(self, parameter: str, file: str):
        """Returns a tensor; of ZeRO 3 without its shape."""
        import torch

        path = self._path_of(parameter, file)
        found = read(path)
        if isinstance(found, dict):
            found = found.get("param")
        if not isinstance(found, torch.Tensor):
            raise InvalidArgument(f"{path}: it holds a {type(found).__name__}, "
                                  "expected a tensor")
        return found

    def _path_of(self, parameter: str, file: str) -> str:
        return os.path.join(self.path, "zero", parameter, file + ".pt")

    def _dictionary(self, *names: str) -> tuple[str, dict]:
        """Returns the first of these files that is there."""
        paths = [os.path.join(self.path, name) for name in names]
        path = next((one for one in paths if os.path.exists(one)), None)
        if path is None:
            raise InvalidArgument(f"{self.path}: it has no "
                                  f"{' and no '.join(names)}")
        found = read(path, _CLASSES)
        if not isinstance(found, dict):
            raise InvalidArgument(f"{path}: it holds a {type(found).__name__}, "
                                  "expected a dictionary")
        return path, found

    def _read_model_states(self) -> None:
        path, found = self._dictionary(*MODEL_STATES)
        fields = _Fields(path, found)
        self.steps = fields.number("global_steps")
        self.updates = max(0, self.steps - fields.number("skipped_steps", 0))
        samples = fields.number("global_samples", 0)
        if samples and self.steps and samples % self.steps == 0:
            self.samples_per_step = samples // self.steps

    def _read_optimizer_state(self) -> None:
        path, found = self._dictionary(OPTIMIZER_STATE)
        # ZeRO 3 counts only here.
        states = _Fields(path, found).inner("optimizer_state_dict", "state")
        first = next(iter(states.values()), None)
        if isinstance(first, dict) and "step" in first:
            self.updates = _count(path, first["step"])
        scaler = found.get("loss_scaler")
        if isinstance(scaler, _LossScaler):
            fields = _Fields(path, vars(scaler))
            self.loss_scale = {
                "scale": fields.real("cur_scale"),
                "steps": fields.number("cur_iter", 0),
                "last_overflow": fields.number("last_overflow_iter", -1,
                                               least=-1),
                "hysteresis": fields.number("cur_hysteresis", 1)}
            if self.loss_scale["last_overflow"] >= max(
                    1, self.loss_scale["steps"]):
                raise InvalidArgument(
                    f"{path}: its loss scale is none that a run can have: its "
                    "last overflow is after its last step")

    def _read_counts(self) -> None:
        """All parameters count the same."""
        first = None
        for name, files in self.files.items():
            if "step" not in files:
                continue
            path = self._path_of(name, "step")
            count = _count(path, read(path))
            if first and count != self.updates:
                raise InvalidArgument(
                    f"{self.path}: '{first}' was updated {self.updates} times, "
                    f"and '{name}' {count} times: a plan updates all parameters "
                    "at once")
            self.updates, first = count, name
