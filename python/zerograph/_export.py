"""Exporting a PyTorch module so that what training needs is in the file."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from . import names as _names
from ._check import Comparison, check, check_small
from ._complex_parameters import complex_parameters_stored
from ._ctc import MaskError
from ._fixed import Fixed, advice_of, checked_names, mark_samples
from ._gradients import checkpoints_called
from ._inspect import inspect_loss
from ._library import Error, InvalidArgument, warn
from ._mean import is_mean_of_halves
from ._metrics import Metrics, checked, loss_and_metrics
from ._packed import states_of_packed
from ._recorded import Recording
from ._run import generators_kept, quiet, training
from ._traced import traced
from ._wrapper import as_batch, check_module, with_loss
from ._written_out import written_out


def _dims(batch: Mapping[str, torch.Tensor],
          dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, dict]:
    """Returns the names of the dims that may vary: samples, and what `dynamic`
    says."""
    for name, own in dynamic.items():
        ndim = batch[name].ndim if name in batch else 0
        if not all(0 <= axis < ndim for axis in own):
            raise InvalidArgument(
                f"dynamic names dims {list(own)} of '{name}'; expected inputs of "
                "the example and dims from 0 on, and it has " +
                ", ".join(f"'{one}' of shape {list(array.shape)}"
                          for one, array in batch.items()))
    samples = next((len(one) for one in batch.values() if one.ndim), None)
    dims = {}
    for name, one in batch.items():
        own = {0: "batch"} if one.ndim and len(one) == samples else {}
        dims[name] = {**own, **dict(dynamic.get(name, {}))}
    return dims


def _export_newer(wrapped, arrays, dims, outputs, path) -> None:
    shapes = {f"array{i}": {axis: torch.export.Dim(dim)
                            for axis, dim in own.items()}
              for i, own in enumerate(dims.values())}
    program = torch.onnx.export(
        wrapped, arrays, dynamo=True, optimize=False, input_names=list(dims),
        output_names=outputs, dynamic_shapes=shapes, verbose=False)
    _make_names_unique(program.model)
    program.save(path, external_data=True)


def _make_names_unique(model) -> None:
    """Gives what nodes make names of their own: the exporter calls it after
    PyTorch's functions, as parameters, arguments and metrics may be called
    too."""
    import onnx_ir
    outputs = list(model.graph.outputs)
    taken = {*(one.name for one in (*model.graph.inputs, *outputs)),
             *model.graph.initializers}
    for node in onnx_ir.traversal.RecursiveGraphIterator(model.graph):
        for one in node.outputs:
            if any(one is output for output in outputs):
                continue
            while one.name and one.name in taken:
                one.name += "_"
            taken.add(one.name)


@contextlib.contextmanager
def _without_graphs():
    """Drops what the exporter's C++ prints: the whole graph, of an operator that
    it does not know."""
    flush = ctypes.CDLL(None).fflush
    try:
        kept = os.dup(1)
    except OSError:  # it is closed
        yield
        return
    try:
        flush(None)
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
        yield
    finally:
        flush(None)
        os.dup2(kept, 1)
        os.close(kept)


def _export_older(wrapped, arrays, dims, outputs, path) -> None:
    with _without_graphs(), states_of_packed():
        torch.onnx.export(wrapped, arrays, path, dynamo=False,
                          training=torch.onnx.TrainingMode.PRESERVE,
                          do_constant_folding=False, export_params=True,
                          opset_version=17, input_names=list(dims),
                          output_names=outputs, dynamic_axes=dims)


def _export_either(wrapped, arrays, dims, outputs, path, said, advise) -> str:
    """Writes the file by the newer exporter, or by the older one, and returns
    what the newer one cannot then: else nothing. `advise` returns what to do
    where values decide shapes. What writes PyTorch's gradients
    out may keep the newer one from following forward(), as where it takes a
    tensor's number: then it goes without."""
    attempts = (True, False) if wrapped.has_pytorch_gradients else (False,)
    for wanted in attempts:
        wrapped.has_pytorch_gradients = wanted
        try:
            _export_newer(wrapped, arrays, dims, outputs, path)
            return ""
        except Exception as error:
            newer = error
            _raise_refusal(error, advise)
    if "data-dependent" in str(newer):
        raise Error(
            "forward() or the loss takes another path, or has tensors of "
            "another size, by the values of its inputs, which a file cannot "
            f"say{_last_place(said.getvalue())}. In place of an if, write "
            "torch.where; in place of indexing by a mask, x[mask], multiply by "
            "it, or have labels left out by ignore_index. If it is the loss that "
            "a model computes itself, give loss=, and call the labels in the "
            "example as none of forward()'s arguments is called" + advise())
    try:
        _export_older(wrapped, arrays, dims, outputs, path)
        return _summary_of(newer) or type(newer).__name__
    except Exception:
        raise Error("PyTorch cannot export the module, with either exporter: "
                    f"{_summary_of(newer)}") from newer


def _raise_refusal(error: BaseException | None,
                   advise: Callable[[], str]) -> None:
    """Raises what an exporter's error was raised from, if that is one of this
    package: of a function that cannot be written out, or of a mask."""
    while error is not None:
        if isinstance(error, MaskError):
            error.args = (f"{error}{advise()}",)
        if isinstance(error, Error):
            raise error from None
        error = error.__cause__


def _summary_of(error: Exception) -> str:
    """Returns the lines of an exporter's error that say what is wrong, without
    colors and advice on PyTorch. What led to what comes first."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    text = text.rpartition("## Exception summary")[2]
    text = re.sub(r"<OpOverload\(op='([^']*)'[^>]*>", r"\1", text)
    text = re.sub(r"<class '(?:\w+\.)*(\w+)'>: ", r"\1: ", text)
    text = text.replace("DispatchError: ", "").split("(Refer to ")[0]
    lines = [line.strip()[:300] for line in text.splitlines()
             if line.strip(" \u2b06\ufe0f")]
    return "\n".join(lines[:3])


def _last_place(graph: str) -> str:
    """Returns ": FILE:LINE in FUNCTION, code: ..." of the last node of a graph
    that was printed."""
    places = re.findall(r"# File: (.+)", graph)
    return f": {places[-1]}" if places else ""


def _restore_buffers(path: str, module: torch.nn.Module) -> None:
    """Writes the module's buffers over those of the file, which the exporter's
    own run has changed."""
    import onnx
    model = onnx.load(path)
    buffers = {name: one.detach().cpu().numpy()
               for name, one in module.named_buffers()}
    for initializer in model.graph.initializer:
        value = buffers.get(initializer.name)
        if value is not None and list(initializer.dims) == list(value.shape):
            initializer.CopyFrom(
                onnx.numpy_helper.from_array(value, initializer.name))
    onnx.save(model, path)


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


def _own_arrays(batch: Mapping[str, torch.Tensor], alone: bool) -> tuple:
    """Returns the arrays of an example as exporters need them: they take a dim of
    one, as that of a sample `alone`, for a constant, and make one input of two
    that are one tensor."""
    return tuple(
        torch.cat([one, one]) if alone and one.ndim and len(one) == 1 else
        one.clone() for one in batch.values())


@dataclass
class Written:
    """A file that was written."""

    found: Comparison
    #: Warnings.
    says: list[str]
    #: Tells whether the loss is a mean over samples.
    is_mean: Callable[[], bool]
    #: Checks what `fixed` inputs of a batch decide.
    decided: Recording | None
    #: Returns ". Or give fixed=...", if inputs decide shapes.
    advise: Callable[[], str]


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
    names = list(batch)
    fixed = checked_names(fixed, batch)
    alone = not fixed and next(
        (len(one) for one in batch.values() if one.ndim), 0) == 1
    arrays = _own_arrays(batch, alone)
    samples = dict(zip(names, arrays))
    dims = _dims(samples, dynamic)
    if fixed:
        if dynamic:
            raise InvalidArgument("dynamic= and fixed= exclude each other: what "
                                  "inputs decide is that of the example's sizes")
        dims = dict.fromkeys(dims, {})
    # A dim that may vary need not be that of samples: the first input has that.
    first = next((own[0] for own in dims.values() if 0 in own), None)
    per_sample = [name for name, own in dims.items() if own.get(0, "") == first]
    twice = {name: torch.cat([one, one]) if name in per_sample else one
             for name, one in samples.items()}
    seen = inspect_loss(module, samples, twice, loss)
    metrics = checked(metrics, module, samples, loss)
    with (training(module, loss, seen.before),
          complex_parameters_stored(module) as around):
        _refuse_cumulative(module)
        decided = Fixed(fixed, samples)
        wrapped = with_loss(
            module, names, decided.around(lambda batch: loss_and_metrics(
                module, batch, seen.loss, metrics)),
            seen.functions, around)
        wrapped.has_pytorch_gradients = bool(seen.would_differ)
        with quiet() as said, written_out() as experts, checkpoints_called():
            if seen.takes_gradients:
                wrapped, holds = traced(wrapped, arrays, list(dims.values()))
                if not holds:
                    _refuse_alone(alone)
                    says.append(_FIXED)
                    dims = dict.fromkeys(dims, {})
                    per_sample = []
            outputs = ["loss", *metrics]
            older = _export_either(wrapped, arrays, dims, outputs, path, said,
                                   lambda: advice_of(seen.compute, samples))
    says += seen.advice + sorted(experts)
    says += decided.say()
    if older:
        logging.getLogger("zerograph").info(
            "written by PyTorch's older exporter, as the newer one cannot: %s",
            older)
        _restore_buffers(path, module)
    if fixed:
        mark_samples(path, samples)
    known, missing = _names.names_of(module, path)
    lost = seen.used.intersection(missing) if compare != "all" else ()
    if lost:
        remedy = (". An LSTM has proj_size, which no operator of ONNX has: leave it "
                  "out" if any("weight_hr_l" in one for one in lost) else "")
        raise Error("the exporter left out, or changed, parameters that are "
                    f"trained: {', '.join(sorted(lost))}{remedy}")
    _names.save(known, os.path.splitext(path)[0] + ".names.json")
    freeze = _frozen(module, known)
    found, differences = _compared(module, path, batch, per_sample, loss, freeze,
                                   compare, target)
    causes = []
    if not (found.compared and found.ok):
        causes += seen.may_differ
        if not wrapped.has_pytorch_gradients:
            causes += seen.would_differ_older if older else seen.would_differ
    found.lost = seen.differs + causes + found.lost
    return Written(
        found, says + seen.differs + causes + differences,
        lambda: seen.is_sum or is_mean_of_halves(module, twice, per_sample,
                                                 seen.compute),
        decided.recording.finish() if fixed else None,
        lambda: advice_of(seen.compute, samples))


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
