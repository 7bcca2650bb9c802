"""Compiling a file."""

from __future__ import annotations

import ctypes
import functools
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from ._arrays import Arrays
from ._library import InvalidArgument, check, library, say_notes, texts
from ._options import command_line
from ._plan import Plan


def _inputs(model: str | os.PathLike) -> list[str]:
    """Returns the names of the file's inputs."""
    try:
        import onnx
    except ImportError:
        raise InvalidArgument(
            "the example of a file is a dictionary of arrays, by the names of "
            "the model's inputs, or a tuple where the package onnx is "
            "installed") from None
    graph = onnx.load(model, load_external_data=False).graph
    weights = {one.name for one in graph.initializer}
    return [one.name for one in graph.input if one.name not in weights]


def example_arrays(model: str | os.PathLike,
                   example: Mapping[str, Any] | tuple | None) -> Arrays:
    """Returns the arrays of an example of a file's inputs."""
    if not os.path.exists(model):
        raise InvalidArgument(f"{model}: there is no such file")
    named = example is None or isinstance(example, Mapping)
    return Arrays(example or {}, [] if named else _inputs(model), "the example")


def compile_file(model: str | os.PathLike,
                 example: Mapping[str, Any] | tuple | None = None,
                 **options) -> Plan:
    """Compiles MODEL.onnx, as `zg.compile` says."""
    if callable(options.get("loss")):
        raise InvalidArgument("a function as loss= is for modules of PyTorch; a "
                              "file takes a name, as loss=\"cross_entropy\"")
    arrays = example_arrays(model, example)
    handle = ctypes.c_void_p()
    with tempfile.TemporaryDirectory() as folder:
        arguments = command_line(options, folder)
        check(library().zg_compile(os.fsencode(model), texts(arguments),
                                   len(arguments), arrays.pointer, arrays.count,
                                   ctypes.byref(handle)))
    plan = Plan(handle.value, functools.partial(compile_file, model, example,
                                                **options))
    say_notes()
    return plan
