"""Writing a file by PyTorch's exporters: the newer one, or else the older one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Callable

import torch

from ._ctc import MaskError
from ._library import Error
from ._packed import states_of_packed


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


def write_file(wrapped, arrays, dims, outputs, path, said, advise) -> str:
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
    except Exception as error:
        _raise_refusal(error, advise)
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


def restore_buffers(path: str, module: torch.nn.Module) -> None:
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
