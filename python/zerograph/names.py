"""Names the tensors of an exported model as state_dict() does, in a file for
`--names` of `zerograph`. `zerograph.export` writes it; where you export
yourself:

    torch.onnx.export(WithLoss(model), ..., "model.onnx", ...)
    zerograph.names.write(model, "model.onnx", "names.json")

Exporters put the names of wrappers before a name, store tied weights under any
of their names, and may rename and transpose weights. So a tensor is found by
the end of its name or, where that leads to nothing, by its values, which must
still be those that were exported.
"""

from __future__ import annotations

import json
import os
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from ._library import InvalidArgument, warn

if typing.TYPE_CHECKING:
    import numpy as np
    import torch


class Name(typing.NamedTuple):
    """What state_dict() calls a tensor; it may have the transpose."""

    name: str
    transposed: bool = False


def _parse(path: str | os.PathLike) -> dict:
    """Returns the object in a file, whose keys are all different."""
    def differ(pairs):
        found = {}
        for key, value in pairs:
            if key in found:
                raise ValueError(f"'{key}' is there twice")
            found[key] = value
        return found

    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=differ)


def _name_of(initializer: str, value: Any) -> Name:
    if isinstance(value, Mapping) and set(value) == {"name", "transposed"} and (
            isinstance(value["transposed"], bool)):
        name = Name(value["name"], value["transposed"])
    else:
        name = Name(value)
    if not isinstance(name.name, str) or not name.name:
        raise ValueError(f"'{initializer}' has none")
    return name


class Names:
    """Says what state_dict() calls each tensor of a model: the same, where
    `given` does not say otherwise, a file that `write` made or what such a file
    holds."""

    def __init__(self, given: Mapping | str | os.PathLike | None = None):
        self._what = "names"
        try:
            if given is not None and not isinstance(given, Mapping):
                self._what = os.fspath(given)
                given = _parse(given)
            if given is not None and not isinstance(given, Mapping):
                raise ValueError("it is no JSON object")
            self._names = {initializer: _name_of(initializer, value)
                           for initializer, value in (given or {}).items()}
            self.check_unique(self._names)
        except (ValueError, TypeError) as error:
            raise InvalidArgument(
                f"{self._what}: no map of names: {error}; expected "
                '{"INITIALIZER": "NAME", "INITIALIZER": {"name": "NAME", '
                '"transposed": true}, ...}') from error

    def of(self, initializer: str) -> Name:
        return self._names.get(initializer, Name(initializer))

    def check_unique(self, initializers: Iterable[str]) -> None:
        """Refuses two tensors of one name."""
        owners = {}
        for initializer in initializers:
            name = self.of(initializer).name
            other = owners.setdefault(name, initializer)
            if other != initializer:
                raise InvalidArgument(f"{self._what}: '{other}' and "
                                      f"'{initializer}' are both '{name}'")

    def turn(self, initializer: str, tensor):
        """Returns a tensor of the model as state_dict() has it, or one of
        state_dict() as the model has it."""
        if not self.of(initializer).transposed:
            return tensor
        if tensor.ndim != 2:
            raise InvalidArgument(
                f"{self._what}: '{self.of(initializer).name}' is transposed, "
                f"which only a matrix can be: its shape is {list(tensor.shape)}")
        return tensor.T.contiguous()

    def warn_of_others(self, initializers: Iterable[str]) -> None:
        """Warns of names of what is no tensor of the model."""
        others = sorted(set(self._names) - set(initializers))
        if others:
            warn(
                f"{self._what}: {len(others)} of {len(self._names)} names have "
                "no effect, since no tensor is called so: "
                f"{', '.join(others[:5])}")


def match(ours: np.ndarray, theirs: np.ndarray) -> str | None:
    """Returns how two arrays are equal: "same", "transposed" or None."""
    if ours.shape == theirs.shape and (ours == theirs).all():
        return "same"
    if (ours.ndim == 2 and ours.shape == theirs.shape[::-1]
            and (ours == theirs.T).all()):
        return "transposed"
    return None


def _ends(name: str) -> list[str]:
    """Returns what a name may be without the names of wrappers, the longest
    first."""
    parts = name.split(".")
    return [".".join(parts[begin:]) for begin in range(len(parts))]


def names_of(model: torch.nn.Module,
             path: str | os.PathLike) -> tuple[dict, list[str]]:
    """(Initializer -> name, or {"name": ..., "transposed": True}; those of
    named_parameters() that were not found)."""
    import onnx
    from onnx import numpy_helper

    from ._complex_parameters import as_stored

    arrays, first = {}, {}
    known = {}  # every name, also of tied weights -> the first name of these
    saved = model.state_dict()  # without buffers that are not persistent
    for named in (model.named_parameters(remove_duplicate=False),
                  ((name, tensor) for name, tensor in
                   model.named_buffers(remove_duplicate=False)
                   if name in saved)):
        for name, tensor in named:
            known[name] = first.setdefault(id(tensor), name)
            value = as_stored(tensor.detach().cpu())
            if value.dtype.itemsize < 4:  # numpy lacks some of these
                value = value.float()
            arrays[known[name]] = value.numpy()

    names, renamed = {}, []
    for initializer in onnx.load(path).graph.initializer:
        array = numpy_helper.to_array(initializer)
        for end in _ends(initializer.name):
            name = known.get(end)
            how = match(array, arrays[name]) if name else None
            if how:
                names[initializer.name] = name, how
                break
        else:
            renamed.append((initializer.name, array))
    found = {name for name, _ in names.values()}
    for initializer, array in renamed:
        same = [(name, match(array, own)) for name, own in arrays.items()
                if name not in found and array.size > 1]
        same = [(name, how) for name, how in same if how]
        if len(same) == 1:  # else it may be any of these
            names[initializer] = same[0]
            found.add(same[0][0])
    missing = [name for name, _ in model.named_parameters()
               if name not in found]
    return {initializer: name if how == "same" else
            {"name": name, "transposed": True}
            for initializer, (name, how) in names.items()}, missing


def load(module: torch.nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Gives a module's tensors the values of arrays, by its names or those that
    exporters made of them: with the names of wrappers in front, transposed."""
    import torch

    found = _find(module, {name: array.shape for name, array in arrays.items()})
    with torch.no_grad():
        for initializer, tensor in found.items():
            tensor.copy_(torch.tensor(arrays[initializer]))


def check_constants(module: torch.nn.Module,
                    constants: Mapping[str, torch.Tensor]) -> None:
    """Refuses a module whose buffers are others than those of a plan."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise InvalidArgument(f"expected a module of PyTorch, found a "
                              f"{type(module).__name__}")
    now = dict(module.named_buffers())
    changed = [name for name, one in constants.items()
               if name in now and not torch.equal(now[name].cpu(), one)]
    if changed:
        raise InvalidArgument(
            f"buffers of the module have changed that are constants of the plan: "
            f"{', '.join(changed[:5])}. One of floats that is in the module's "
            "state_dict() can change; else compile again")


def read(module: torch.nn.Module,
         shapes: Mapping[str, Iterable[int]]) -> dict[str, torch.Tensor]:
    """Returns what a module has for arrays of these shapes, by their names, on
    the CPU: the counterpart of `load`."""
    return {initializer: tensor.cpu()
            for initializer, tensor in _find(module, shapes).items()}


def _find(module: torch.nn.Module,
          shapes: Mapping[str, Iterable[int]]) -> dict[str, torch.Tensor]:
    """Returns views of a module's tensors, of these shapes, by the names of
    initializers."""
    from ._complex_parameters import as_stored

    tensors = {name: as_stored(one.detach()) for named in (
        module.named_parameters(remove_duplicate=False),
        module.named_buffers(remove_duplicate=False)) for name, one in named}
    found, unknown = {}, []
    for initializer, shape in shapes.items():
        shape = list(shape)
        name = next((end for end in _ends(initializer) if end in tensors),
                    None)
        if name is None:
            unknown.append(initializer)
            continue
        tensor = tensors[name]
        if len(shape) == 2 and shape != list(tensor.shape):
            tensor = tensor.mT if tensor.ndim == 2 else tensor
        if shape != list(tensor.shape):
            unknown.append(f"{initializer} of shape {shape}, "
                           f"expected {list(tensors[name].shape)}")
            continue
        found[initializer] = tensor
    if unknown:
        raise InvalidArgument(
            f"the module has no tensors for {', '.join(unknown)}: give the "
            "module that was exported, or one like it")
    return found


def write(model: torch.nn.Module, path: str | os.PathLike,
          output: str | os.PathLike) -> None:
    """Writes the names of a model that was exported to `path`, with or without a
    wrapper."""
    names, missing = names_of(model, path)
    if missing:
        raise InvalidArgument(
            f"{path} has no tensor with the values of {', '.join(missing)}: are "
            "they as when the model was exported?")
    save(names, output)


def save(names: Mapping, output: str | os.PathLike) -> None:
    """Writes what `names_of` has found."""
    with open(output, "w") as file:
        json.dump(names, file, indent=1, sort_keys=True)
