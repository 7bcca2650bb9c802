"""Exporting a PyTorch module so that what training needs is in the file."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import random
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import names as _names
from ._check import Comparison, check, check_small
from ._library import Error, InvalidArgument
from ._look import look
from ._wrapper import as_batch, loss_of, with_loss
from ._written_out import written_out


@contextlib.contextmanager
def in_mode(module: torch.nn.Module, training: bool):
    """Has a module train, or not, and puts back modes and buffers: the older
    exporter runs the module once, which changes statistics."""
    modes = {part: part.training for part in module.modules()}
    buffers = [(one, one.detach().clone()) for one in module.buffers()]
    if module.training != training:
        module.train(training)
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
        with torch.no_grad():
            for one, value in buffers:
                one.copy_(value)


@contextlib.contextmanager
def _quiet():
    """Keeps back what exporters say: advice for inference, and, where one fails,
    the whole graph. Yields that text."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        said = io.StringIO()
        with (warnings.catch_warnings(), contextlib.redirect_stdout(said),
              contextlib.redirect_stderr(said)):
            warnings.simplefilter("ignore")
            yield said
    finally:
        logging.disable(disabled)


def _dims(batch: Mapping[str, torch.Tensor],
          dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, dict]:
    """Returns the names of the dims that may vary: samples, and what `dynamic`
    says."""
    samples = next((len(one) for one in batch.values() if one.ndim), None)
    dims = {}
    for name, one in batch.items():
        own = {0: "batch"} if one.ndim and len(one) == samples else {}
        dims[name] = {**own, **dict(dynamic.get(name, {}))}
    return dims


def _shapes(names, dims) -> dict[str, dict]:
    """Returns the dims that may vary as torch.export takes them."""
    known = {name: torch.export.Dim(name)
             for one in dims.values() for name in one.values()}
    return {f"array{i}": {axis: known[dim] for axis, dim in dims[name].items()}
            for i, name in enumerate(names)}


def _export_newer(wrapped, arrays, names, dims, path) -> None:
    program = torch.onnx.export(
        wrapped, arrays, dynamo=True, optimize=False, input_names=names,
        output_names=["loss"], dynamic_shapes=_shapes(names, dims),
        verbose=False)
    _rename_twins(program.model)
    program.save(path, external_data=True)


def _rename_twins(model) -> None:
    """Gives what nodes make names of their own: the exporter calls it after
    PyTorch's functions, as parameters and arguments may be called too."""
    import onnx_ir
    taken = {*(one.name for one in model.graph.inputs),
             *model.graph.initializers}
    for node in onnx_ir.traversal.RecursiveGraphIterator(model.graph):
        for one in node.outputs:
            while one.name and one.name in taken:
                one.name += "_"
            taken.add(one.name)


def _export_older(wrapped, arrays, names, dims, path) -> None:
    torch.onnx.export(wrapped, arrays, path, dynamo=False,
                      training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, export_params=True,
                      opset_version=17, input_names=names,
                      output_names=["loss"], dynamic_axes=dims)


def _write(wrapped, arrays, names, dims, path, said) -> bool:
    """Returns whether the older exporter wrote the file: it does what the newer
    one cannot."""
    try:
        _export_newer(wrapped, arrays, names, dims, path)
        return False
    except Exception as error:
        newer = error
    if "data-dependent" in str(newer):
        raise Error(
            "forward() takes another path by the values of its inputs, which a "
            f"file cannot say{_last_place(said.getvalue())}")
    try:
        _export_older(wrapped, arrays, names, dims, path)
        return True
    except Exception:
        raise Error("PyTorch cannot export the module, with either exporter: "
                    f"{_telling(newer)}") from newer


def _telling(error: Exception) -> str:
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


def _warn_of_sum(module, batch, dims, loss) -> None:
    """Warns of a loss that doubles when all samples are there twice: it is a
    sum, and a step's is the mean of its micro-batches'."""
    twice = {name: torch.cat([one, one]) if 0 in dims[name] else one
             for name, one in batch.items()}
    try:
        # Samples do without each other there, and without dropout.
        with in_mode(module, training=False), torch.no_grad(), _quiet():
            once, both = (float(loss_of(module, one, loss))
                          for one in (batch, twice))
    except Exception:  # it takes so many samples alone
        return
    if once and abs(both - 2 * once) < 1e-3 * abs(once):
        warnings.warn(
            "the loss is a sum over samples: twice as many have twice the loss. "
            "The loss of a step is the mean of its micro-batches', over all "
            "ranks, so it and the gradients would be divided by their number: "
            "take a mean", stacklevel=3)


def _warn_of_random(module, batch, loss) -> None:
    """Computes the loss, which says what is wrong if the exporter would, and
    warns where it depends on random numbers that are not PyTorch's: the file
    has those of one call. What a module has changed in evaluation, as RWKV its
    weights, it changes back."""
    import numpy

    def state() -> bytes:
        return pickle.dumps((random.getstate(), numpy.random.get_state()))

    states = random.getstate(), numpy.random.get_state()
    losses = []
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            for seed in (1, 1, 2):
                torch.manual_seed(0)
                random.seed(seed)
                numpy.random.seed(seed)
                seeded = state()
                with in_mode(module, training=True):
                    losses.append(float(loss_of(module, batch, loss)))
                if state() == seeded:
                    return  # it draws none of theirs
    finally:
        random.setstate(states[0])
        numpy.random.set_state(states[1])
    if losses[0] == losses[1] != losses[2]:
        warnings.warn(
            "the loss depends on random numbers that are not PyTorch's, but "
            "numpy's or Python's: the file has those of one call, and every step "
            "would take the same. Turn off what draws them; of speech models of "
            "transformers, config.apply_spec_augment", stacklevel=3)


def _refuse_missing(module, missing, batch, loss) -> None:
    """Refuses a file without parameters, unless nothing uses them."""
    parameters = dict(module.named_parameters())
    wanted = [name for name in missing if parameters[name].requires_grad]
    with in_mode(module, training=True):
        used = torch.autograd.grad(loss_of(module, batch, loss),
                                   [parameters[name] for name in wanted],
                                   allow_unused=True) if wanted else []
    lost = [name for name, one in zip(wanted, used) if one is not None]
    if lost:
        raise Error("the exporter left out, or changed, parameters that are "
                    f"trained: {', '.join(lost)}")


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


def _differences(found: Comparison | None, causes: list[str]) -> list[str]:
    """Returns what is to be said of a file that may have been compared."""
    if found is None:
        return causes
    if found.ok:
        return []
    more = len(found.lost) - 3
    return causes + [
        "the file does not compute what PyTorch does: " +
        "; ".join(found.lost[:3]) +
        (f"; and {more} more, which zg.export lists" if more > 0 else "")]


def export(module: torch.nn.Module, example: Any, path: str | os.PathLike,
           loss: Callable | None = None,
           dynamic: Mapping[str, Mapping[int, str]] | None = None,
           compare: bool | None = True) -> Comparison:
    """Writes a module and its loss to MODEL.onnx for training, and compares the
    file with PyTorch.

    - `example` is a batch: tensors by name, or a tuple of `forward`'s arguments
      and then the labels. The number of samples may vary in the file.
    - `loss` is a function of the module's output and the labels, as
      torch.nn.functional.cross_entropy; without it, the module returns its loss,
      alone, first, or as `.loss`.
    - `dynamic` names other dims that may vary: {"input_ids": {1: "seq"}}.
    - `compare=False` leaves the comparison out, for a module that is too large
      to be computed here twice; None compares four samples of a small module,
      and of no other.

    Beside the file, MODEL.names.json says what PyTorch calls its tensors, for
    `load_weights` with `names`. What the file lacks is in the result's `lost`
    and warned of; `zg.compile` of a module freezes what PyTorch does not train.
    """
    path = os.fspath(path)
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise InvalidArgument(f"{path}: there is no such folder")
    batch = as_batch(module, example)
    if not module.training:
        warnings.warn("the module is in evaluation mode, and is exported as "
                      "module.train() has it: with dropout, and BatchNorm by the "
                      "batch", stacklevel=2)
    names = list(batch)
    # Exporters take a dim of one for a constant.
    arrays = tuple(torch.cat([one, one]) if one.ndim and len(one) == 1 else one
                   for one in batch.values())
    # Each input has a tensor of its own, or the exporter makes one of two.
    arrays = tuple(one.clone() for one in arrays)
    dims = _dims(dict(zip(names, arrays)), dynamic or {})
    with in_mode(module, training=True):
        seen = look(module, dict(zip(names, arrays)), loss)
    with in_mode(module, training=True):  # with the statistics that it had
        _warn_of_sum(module, dict(zip(names, arrays)), dims, loss)
        _warn_of_random(module, dict(zip(names, arrays)), loss)
        wrapped = with_loss(module, names, seen.loss)
        with _quiet() as said, written_out() as experts:
            older = _write(wrapped, arrays, names, dims, path, said)
    for one in sorted(experts):
        warnings.warn(one, stacklevel=2)
    if older:
        _restore_buffers(path, module)
    known, missing = _names.names_of(module, path)
    if not compare and missing:
        _refuse_missing(module, missing, batch, loss)
    _names.save(known, os.path.splitext(path)[0] + ".names.json")
    if not compare:
        freeze = _frozen(module, known)
        few = {name: one[:4] if dims[name].get(0) == "batch" else one
               for name, one in batch.items()}
        found = None if compare is False else check_small(
            module, path, few, loss, freeze)
        for one in seen.differs + _differences(found, seen.may_differ):
            warnings.warn(one, stacklevel=2)
        return Comparison(path, freeze=freeze)
    found = check(module, path, batch, loss)
    found.lost += seen.differs
    for one in found.lost:
        warnings.warn(f"{path}: {one}", stacklevel=2)
    return found
