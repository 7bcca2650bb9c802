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


def compile_file(model: str | os.PathLike,
                 example: Mapping[str, Any] | None = None, **options) -> Plan:
    """Compiles MODEL.onnx, as `zg.compile` says."""
    if example is not None and not isinstance(example, Mapping):
        raise InvalidArgument("the example of a file is a dictionary of arrays, "
                              "by the names of the model's inputs")
    if callable(options.get("loss")):
        raise InvalidArgument("a function as loss= is for modules of PyTorch; a "
                              "file takes a name, as loss=\"cross_entropy\"")
    arrays = Arrays(example or {}, list(example or {}))
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
