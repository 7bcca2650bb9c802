"""Comparing an exported file with the PyTorch module that it came from."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch

from . import names as _names
from ._compile_file import compile_file
from ._complex_parameters import as_stored
from ._launch import is_alone
from ._library import Error, InvalidArgument
from ._run import Run, generators_kept, kept, run, varies
from ._trainer import Trainer
from ._wrapper import Batch, ParameterRedirect, as_batch

#: A module and its batch are compared beside an export up to this many elements.
_SMALL = 4_000_000


@dataclass
class Comparison:
    """How a file differs from the module: nothing is lost if `lost` is empty."""

    path: str
    #: The losses of the example, of the file and of PyTorch: None if they were
    #: not compared.
    loss: float | None = None
    expected_loss: float | None = None
    #: Maps a parameter to the largest difference of its gradient, as a part of
    #: its largest element; but for gradients that are rounding alone, as of a
    #: bias before BatchNorm.
    errors: dict[str, float] = field(default_factory=dict)
    #: Has a sentence for each thing that PyTorch does and the file does not.
    lost: list[str] = field(default_factory=list)
    #: The file's names of what PyTorch does not train: compile with
    #: freeze=comparison.freeze.
    freeze: list[str] = field(default_factory=list)
    #: The file's gradients were compared with PyTorch's.
    compared: bool = False

    @property
    def ok(self) -> bool:
        return not self.lost

    def __str__(self) -> str:
        lines = [f"{self.path}: loss {self.loss}, PyTorch {self.expected_loss}"
                 if self.compared else
                 f"{self.path}: not compared with PyTorch"]
        if self.errors:
            worst = max(self.errors, key=self.errors.get)
            lines.append(f"{len(self.errors)} gradients, which differ from "
                         f"PyTorch's by at most {self.errors[worst]:.1e} of "
                         f"their largest element ({worst})")
        lines += [f"lost: {one}" for one in self.lost] or (
            ["nothing is lost"] if self.compared else [])
        return "\n".join(lines)


@dataclass
class _Reference:
    run: Run
    loss: float
    gradients: dict[str, np.ndarray | None]


def _run_copy(module, batch, loss, copied=None) -> Run:
    """Computes the loss of a copy of the module."""
    copied = copied or copy.deepcopy(module)
    if not copied.training:
        copied.train()
    # A loss may take gradients itself.
    with torch.enable_grad(), ParameterRedirect(module, copied):
        return run(copied, batch, loss)


def _reference(module, batch, loss, kind: torch.dtype | None) -> _Reference:
    """Computes loss and gradients with PyTorch, in another type if `kind` is
    given."""
    copied = copy.deepcopy(module)
    if kind:
        copied = copied.to(kind)
        batch = {name: one.to(kind) if one.is_floating_point() else one
                 for name, one in batch.items()}
    for parameter in copied.parameters():
        parameter.grad = None
    with torch.enable_grad():
        found = _run_copy(module, batch, loss, copied)
        found.loss.backward()
    found.loss = found.loss.detach()
    return _Reference(found, float(found.loss), {
        name: None if one.grad is None else
        as_stored(one.grad.to_dense()).double().numpy()
        for name, one in copied.named_parameters()})


def _references(module, batch, loss) -> tuple[_Reference, _Reference]:
    """Returns what PyTorch computes in float64, where the module can, and as it
    is."""
    own = _reference(module, batch, loss, None)
    if any(one.is_complex() for one in module.parameters()):
        return own, own  # to() would take their real parts
    try:
        exact = _reference(module, batch, loss, torch.float64)
    except (RuntimeError, TypeError):  # an operator, or a type that is written
        return own, own
    # A mask of the least float32 may be infinite, or none, in float64.
    return exact if _is_finite(exact) else own, own


def _is_finite(reference: _Reference) -> bool:
    return bool(np.isfinite(reference.loss)) and all(
        np.isfinite(one).all() for one in reference.gradients.values()
        if one is not None)


def _dropouts_in(path: str) -> int:
    import onnx
    model = onnx.load(path, load_external_data=False)
    nodes = list(model.graph.node)
    for function in model.functions:
        nodes += function.node
    return sum(node.op_type == "Dropout" for node in nodes)


def _why(module, name: str, ours: np.ndarray, theirs: np.ndarray) -> str:
    """Names what is known to make a gradient differ."""
    if not theirs.any():
        return ("PyTorch gives it no gradient, and the file does: a detach() or "
                "torch.no_grad() after it was not written")
    owner = module.get_submodule(name.rpartition(".")[0])
    if isinstance(owner, torch.nn.Embedding):
        rows = np.flatnonzero(np.abs(ours - theirs).max(axis=1) >
                              1e-3 * np.abs(theirs).max())
        if owner.padding_idx is not None and list(rows) == [owner.padding_idx]:
            return (f"padding_idx was not written: row {owner.padding_idx} is "
                    "trained")
        if owner.scale_grad_by_freq:
            return "scale_grad_by_freq was not written"
    return "the gradient is another"


class _Comparing:
    """Makes one comparison."""

    def __init__(self, module, path, batch, loss, references, freeze=(),
                 target=None):
        self.freeze = list(freeze) or None
        self.target = target
        self.module, self.path, self.batch = module, path, batch
        self.parameters = dict(module.named_parameters())
        self.exact, self.own = references
        self.unable = self._unable(loss)
        self.found = Comparison(path, expected_loss=self.exact.loss)
        self.names, self.missing = _names.names_of(module, path)

    def run(self) -> Comparison:
        gradients = self._ours()
        self._look_for_missing()
        if self.unable:
            self.found.lost.append(f"nothing can be compared: {self.unable}")
        elif gradients is not None:
            self.found.compared = True
            self._compare_loss()
            self._compare(gradients)
        self._look_for_dropouts()
        return self.found

    def _ours(self) -> dict[str, np.ndarray] | None:
        """Returns the file's gradients; nothing where it is refused."""
        import warnings
        notes = logging.getLogger("zerograph")
        try:
            with (warnings.catch_warnings(),
                  mock.patch.object(notes, "disabled", True)):
                warnings.simplefilter("ignore")
                plan = compile_file(self.path, self.batch, optimizer="sgd", lr=0,
                                    dropout=0, dump_gradients=True,
                                    freeze=self.freeze, target=self.target)
                with Trainer(plan) as trainer:
                    trainer.accumulate(self.batch)
                    gradients = trainer.gradients()
                    self.found.loss = float(trainer.update())
            return gradients
        except Error as error:
            self.found.lost.append(str(error))
            return None

    def _unable(self, loss) -> str:
        """Says why PyTorch has nothing to compare with."""
        infinite = [f"loss ({self.exact.loss})"] if not np.isfinite(
            self.exact.loss) else [
                f"gradient of '{name}'"
                for name, one in self.exact.gradients.items()
                if one is not None and not np.isfinite(one).all()]
        if infinite:
            return (f"PyTorch's own {infinite[0]} is not finite. Give another "
                    "example, or other weights")
        drew = self.own.run.drew or self.own.run.drew_others
        if drew and varies(self.own.run, lambda: _run_copy(
                self.module, self.batch, loss)):
            return ("the loss depends on random numbers besides those of "
                    "dropout(), and each has its own")
        return ""

    def _compare_loss(self) -> None:
        ours, exact = self.found.loss, self.exact.loss
        apart = abs(ours - exact)
        if apart > max(20 * abs(self.own.loss - exact), 1e-4 * abs(exact), 1e-6):
            self.found.lost.append(
                f"the loss is {ours:.7g}, and PyTorch's {exact:.7g}")

    def _compare(self, gradients: dict[str, np.ndarray]) -> None:
        # A difference that is rounding in the largest gradient is none.
        largest = max((np.abs(one).max() for one in self.exact.gradients.values()
                       if one is not None and one.size), default=0.0)
        seen: dict[str, str] = {}
        for initializer, ours in gradients.items():
            known = self.names.get(initializer)
            if known is None:
                continue  # a value that the exporter made
            if isinstance(known, dict):
                known, ours = known["name"], ours.T
            if known in seen:
                self.found.lost.append(
                    f"'{known}' is written twice, as '{seen[known]}' and "
                    f"'{initializer}': what was one tensor is trained as two")
            seen[known] = initializer
            self._compare_one(initializer, known, ours, largest)
        known = {*seen, *self.missing}
        for name, theirs in self.exact.gradients.items():
            if (theirs is not None and name not in known and
                    np.abs(theirs).max(initial=0) > 1e-5 * largest):
                self.found.lost.append(
                    f"'{name}' is in the file, and not trained there, but "
                    "PyTorch gives it a gradient")

    def _compare_one(self, initializer: str, name: str, ours: np.ndarray,
                     largest: float) -> None:
        parameter = self.parameters.get(name)
        if parameter is None or not parameter.requires_grad:
            what = ("a buffer" if parameter is None else
                    "a parameter with requires_grad=False")
            self.found.freeze.append(initializer)
            self.found.lost.append(
                f"'{name}' is {what}, and trained here: compile with "
                f"freeze=[\"{initializer}\"]")
            return
        theirs = self.exact.gradients[name]
        theirs = np.zeros_like(ours) if theirs is None else theirs
        own = self.own.gradients[name]
        rounding = 0 if own is None else np.abs(own - theirs).max(initial=0)
        apart = np.abs(ours - theirs).max(initial=0)
        size = np.abs(theirs).max(initial=0)
        if size > 1e-5 * largest:  # else it is rounding alone
            self.found.errors[name] = float(apart / size)
        if not apart <= max(20 * rounding, 1e-4 * size, 1e-6 * largest):
            little = (", which one ReLU or maximum makes too, if rounding "
                      "decides it" if apart <= 1e-3 * size else "")
            self.found.lost.append(
                f"'{name}': {_why(self.module, name, ours, theirs)} (it differs "
                f"by {apart:.1e}, of {size:.1e} at most{little})")

    def _look_for_missing(self) -> None:
        for name in self.missing:
            if self.exact.gradients.get(name) is not None:
                self.found.lost.append(
                    f"'{name}' is not in the file, or with another value")

    def _look_for_dropouts(self) -> None:
        wanted = len(self.exact.run.dropouts)
        within = self.exact.run.dropouts.count("attention")
        written = _dropouts_in(self.path)
        if written < wanted:
            self.found.lost.append(
                f"{wanted - written} of {wanted} dropouts are not in the file" +
                (f", of which {within} are in scaled_dot_product_attention: "
                 "zg.export writes these" if within else ""))


def is_small(module: torch.nn.Module, batch: Batch) -> bool:
    """Tells whether to compute a loss takes little beside an export."""
    return sum(one.numel() for one in
               (*module.parameters(), *batch.values())) <= _SMALL


def check_small(module: torch.nn.Module, path: str, batch: Batch,
                loss: Callable | None, freeze: list[str],
                target: str | None = None) -> Comparison | None:
    """Compares as `check` does, where that takes little beside an export; a CPU
    that is the `target` runs the file, as a process can do so for one alone.
    Returns nothing for a module that is large or draws random numbers, for one
    of several processes, and for a file that is refused."""
    if not is_small(module, batch) or not is_alone():
        return None
    with kept(loss):
        try:
            references = _references(module, batch, loss)
        except Exception:  # it cannot be copied, as one with hooks may
            return None
        comparing = _Comparing(module, path, batch, loss, references, freeze,
                               target)
        found = None if comparing.unable else comparing.run()
    return found if found and found.compared else None


@generators_kept()
def check(module: torch.nn.Module, path: str | os.PathLike, example: Any,
          loss: Callable | None = None) -> Comparison:
    """Compares MODEL.onnx with the module that it was exported from: the loss of
    the example, and every gradient, with PyTorch's in float64.

    `example` and `loss` are as for `export`. Dropout is off on both sides.
    Nothing of the module is changed, nor of a loss that is one.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise InvalidArgument(f"{path}: there is no such file")
    batch = as_batch(module, example, loss)
    with kept(loss):
        return _Comparing(module, path, batch, loss,
                          _references(module, batch, loss)).run()
