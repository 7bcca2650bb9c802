"""Exporting a PyTorch module so that what training needs is in the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from . import names as _names
from ._check import Comparison, check, check_small
from ._complex_parameters import complex_parameters_stored
from ._example import Example, example_of
from ._exporters import restore_buffers, write_file
from ._fixed import Fixed, advice_of, checked_names, mark_samples
from ._gradients import checkpoints_called
from ._inspect import Inspection, inspect_loss
from ._library import Error, InvalidArgument, warn
from ._mean import is_mean_of_halves
from ._metrics import Metrics, checked, loss_and_metrics
from ._recorded import Recording
from ._run import generators_kept, quiet, training
from ._traced import traced
from ._wrapper import as_batch, check_module, with_loss
from ._written_out import written_out


def _frozen(module: torch.nn.Module, known: Mapping) -> list[str]:
    """Returns the initializers of floats that PyTorch does not train; no others
    can be trained."""
    tensors = {**dict(module.named_buffers(remove_duplicate=False)),
               **dict(module.named_parameters(remove_duplicate=False))}
    frozen = []
    for initializer, name in known.items():
        one = tensors.get(name["name"] if isinstance(name, dict) else name)
        if one is None or (one.is_floating_point() and not one.requires_grad):
            frozen.append(initializer)
    return frozen


_FIXED = ("the module or its loss takes gradients itself, and makes a number of "
          "Python of how many samples there are, as by len(x), an if, or "
          "torch.func.vmap: the file is for as many as the example has")


def _refuse_alone(alone: bool) -> None:
    if alone:
        raise Error(f"{_FIXED}. Give an example of at least two samples")


def _in_short(found: Comparison) -> str:
    more = len(found.lost) - 3
    return ("the file does not compute what PyTorch does: " +
            "; ".join(found.lost[:3]) +
            (f"; and {more} more, which zg.export lists" if more > 0 else ""))


def _refuse_cumulative(module: torch.nn.Module) -> None:
    """Refuses a BatchNorm whose running statistics are averages of all batches:
    ONNX's operator has a fixed momentum."""
    for name, part in module.named_modules():
        if (isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and
                part.training and part.track_running_stats and
                part.momentum is None):
            raise Error(f"'{name}' is a BatchNorm with momentum=None, expected a "
                        "number, as 0.1: its running statistics would be the "
                        "averages of all batches, which no file can say")


def _compared(module, path, batch, per_sample, loss, freeze, compare,
              target) -> tuple[Comparison, list[str]]:
    """Compares a file with the module, as much as `compare` says, and returns
    how they differ, also in short."""
    if compare == "all":
        found = check(module, path, batch, loss)
        return found, list(found.lost)
    few = {name: one[:4] if name in per_sample else one
           for name, one in batch.items()}
    found = (check_small(module, path, few, loss, freeze, target)
             if compare == "small" else None) or Comparison(path)
    found.freeze = freeze
    return found, [_in_short(found)] if found.lost else []


def _names_in(path: str, module, used: set[str]) -> dict:
    """Returns what PyTorch calls a file's initializers. Refuses a file without a
    tensor that is used."""
    known, missing = _names.names_of(module, path)
    lost = used.intersection(missing)
    if lost:
        raise Error("the exporter left out, or changed, parameters that are "
                    f"trained: {', '.join(sorted(lost))}")
    return known


@dataclass
class Written:
    """A file that was written."""

    found: Comparison
    #: Has what PyTorch calls the file's initializers.
    known: dict
    #: Warnings.
    says: list[str]
    #: Tells whether the loss is a mean over samples.
    is_mean: Callable[[], bool]
    #: Checks what `fixed` inputs of a batch decide.
    decided: Recording | None
    #: Returns ". Or give fixed=...", if inputs decide shapes.
    advise: Callable[[], str]


def _write(module, example: Example, path: str, loss, metrics: Metrics,
           seen: Inspection, decided: Fixed) -> tuple[list[str], bool, str]:
    """Writes the file. Returns warnings, whether it has what PyTorch's gradients
    are, and what the newer exporter cannot, if the older one wrote it."""
    says = []
    with (training(module, loss, seen.before),
          complex_parameters_stored(module) as around):
        _refuse_cumulative(module)
        wrapped = with_loss(
            module, list(example.samples), decided.around(
                lambda batch: loss_and_metrics(module, batch, seen.loss, metrics)),
            seen.functions, around)
        wrapped.has_pytorch_gradients = bool(seen.would_differ)
        arrays = tuple(example.samples.values())
        with quiet() as said, written_out() as experts, checkpoints_called():
            if seen.takes_gradients:
                wrapped, holds = traced(wrapped, arrays,
                                        list(example.dims.values()))
                if not holds:
                    _refuse_alone(example.alone)
                    says.append(_FIXED)
                    example.keep_sizes()
            older = write_file(
                wrapped, arrays, example.dims, ["loss", *metrics], path, said,
                lambda: advice_of(seen.compute, example.samples))
    says += seen.advice + sorted(experts) + decided.say()
    if older:
        logging.getLogger("zerograph").info(
            "written by PyTorch's older exporter, as the newer one cannot: %s",
            older)
        restore_buffers(path, module)
    return says, wrapped.has_pytorch_gradients, older


@generators_kept()
def export_and_compare(module: torch.nn.Module, example: Any, path: str,
                       loss: Callable | None, metrics: Metrics,
                       dynamic: Mapping, compare: str, target: str | None = None,
                       fixed: Any = None) -> Written:
    """Does what `export` does, and returns more. `compare` is "all", "small", which
    compares four samples of a small module and of no other, or "none"; it
    computes for `target`, if that is a CPU."""
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise InvalidArgument(f"{path}: there is no such folder")
    check_module(module)
    batch = as_batch(module, example, loss)
    says = [] if module.training else [
        "the module is in evaluation mode, and is exported as module.train() has "
        "it: with dropout, and BatchNorm by the batch"]
    fixed = checked_names(fixed, batch)
    example = example_of(batch, dynamic, fixed)
    twice = example.twice()
    seen = inspect_loss(module, example.samples, twice, loss)
    metrics = checked(metrics, module, example.samples, loss)
    decided = Fixed(fixed, example.samples)
    more, has_gradients, older = _write(module, example, path, loss, metrics, seen,
                                        decided)
    says += more
    if fixed:
        mark_samples(path, example.samples)
    known = _names_in(path, module, seen.used if compare != "all" else set())
    _names.save(known, os.path.splitext(path)[0] + ".names.json")
    found, differences = _compared(module, path, batch, example.per_sample, loss,
                                   _frozen(module, known), compare, target)
    causes = []
    if not (found.compared and found.ok):
        causes += seen.may_differ
        if not has_gradients:
            causes += seen.would_differ_older if older else seen.would_differ
    found.lost = seen.differs + causes + found.lost
    return Written(
        found, known, says + seen.differs + causes + differences,
        lambda: seen.is_sum or is_mean_of_halves(module, twice, example.per_sample,
                                                 seen.compute),
        decided.recording.finish() if fixed else None,
        lambda: advice_of(seen.compute, example.samples))


def export(module: torch.nn.Module, example: Any, path: str | os.PathLike,
           loss: Callable | None = None,
           dynamic: Mapping[str, Mapping[int, str]] | None = None,
           compare: bool = True, metrics: Metrics | None = None,
           fixed: str | Iterable[str] | None = None) -> Comparison:
    """Writes a module and its loss to MODEL.onnx for training, and compares the
    file with PyTorch.

    - `example` is a batch: tensors by name, or a tuple of `forward`'s arguments
      and then the labels. The number of samples may vary in the file.
    - `loss` is a function of the module's output and the labels, as
      torch.nn.functional.cross_entropy; without it, the module returns its loss,
      alone, first, or as `.loss`.
    - `dynamic` names other dims that may vary: {"input_ids": {1: "seq"}}.
    - `metrics` has functions of the module's output and the batch, each of which
      returns one number: {"accuracy": lambda output, batch: ...}. They are
      outputs of the file: compile it with metric=["accuracy"].
    - `fixed` names inputs whose values decide shapes, or which way forward()
      goes: in the file what they decide is as in the example. The loss of a batch
      in which they decide otherwise is NaN.
    - `compare=False` leaves the comparison out, for a module that is too large
      to be computed here twice.

    Beside the file, MODEL.names.json says what PyTorch calls its tensors, for
    `load_weights` with `names`. What the file lacks is in the result's `lost`
    and warned of; `zg.compile` of a module freezes what PyTorch does not train.
    """
    path = os.fspath(path)
    made = export_and_compare(module, example, path, loss, metrics or {},
                              dynamic or {}, "all" if compare else "none",
                              fixed=fixed)
    for one in made.says:
        warn(f"{path}: {one}")
    return made.found
