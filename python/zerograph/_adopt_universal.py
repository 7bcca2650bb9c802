"""Finds what a plan's checkpoint needs in one of DeepSpeed's."""

from __future__ import annotations

import math
from typing import Any

from ._library import Error, InvalidArgument
from ._read_universal import Universal
from ._universal import file_of
from .names import Names


def _as_tensor(name: str, value):
    import torch

    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidArgument(f"load_weights: '{name}' is no array: "
                              f"{error}") from error


class Adoption:
    """Finds the tensors that a plan's checkpoint needs."""

    def __init__(self, universal: Universal, names: Names,
                 weights: dict[str, Any]):
        self._universal = universal
        self._names = names
        self._weights = {name: _as_tensor(name, one)
                         for name, one in weights.items()}
        self._used = set()
        self._problems = []
        #: How many tensors DeepSpeed did not save.
        self.of_weights = 0

    def find(self, entry: dict):
        """Returns what a plan's checkpoint calls entry["name"], as the model has
        it; None: it is missing or does not fit, which `check` says."""
        name = self._names.of(entry["parameter"])
        file = file_of(entry["role"])
        where = f"'{name.name}' ({file})"
        if file in self._universal.files.get(name.name, ()):
            self._used.add((name.name, file))
            tensor = self._universal.tensor(name.name, file)
        elif entry["role"] == "values" and name.name in self._weights:
            tensor = self._weights[name.name]
            self.of_weights += 1
        else:
            return self._refuse(f"there is no zero/{name.name}/{file}.pt, which "
                                f"is '{entry['name']}'")
        shape = list(entry["shape"])
        if name.transposed:
            if len(shape) != 2:
                return self._refuse(f"{where} is transposed in names, which only "
                                    f"a matrix can be: its shape is {shape}")
            shape.reverse()
        if list(tensor.shape) not in (shape, [math.prod(shape)]):
            return self._refuse(f"{where} is {list(tensor.shape)}, expected "
                                f"{shape} of '{entry['name']}'")
        return self._names.turn(entry["parameter"], tensor.reshape(shape))

    def check(self) -> None:
        """Raises one error for all that did not fit, and for what DeepSpeed's
        optimizer keeps and the plan's does not."""
        for name, files in self._universal.files.items():
            for file in sorted(files - {"fp32", "step"}):
                if (name, file) not in self._used:
                    self._refuse(f"the plan has nothing for zero/{name}/{file}"
                                 ".pt")
        if not self._problems:
            return
        more = len(self._problems) - 10
        raise Error(
            f"{self._universal.path} does not fit the plan:\n  " +
            "\n  ".join(self._problems[:10] +
                        ([f"and {more} more"] if more > 0 else [])) +
            "\n  names= says what PyTorch calls a tensor of the model, "
            "load_weights= has values that DeepSpeed did not save, and the plan "
            "must train the same parameters by the same optimizer")

    def _refuse(self, problem: str) -> None:
        self._problems.append(problem)
