"""Compiling a file."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from ._arrays import Arrays
from ._library import (InvalidArgument, check, forget_notes, library, say_notes,
                       texts)
from ._options import plan_arguments
from ._places import with_places
from ._plan import Plan

#: Options that say themselves how many samples a step has; a configuration and
#: dim={"batch": 8} may.
_SAMPLES = ("micro_batch", "global_batch")


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


def _says_samples(options: dict) -> bool:
    config = options.get("config") or ""
    if isinstance(config, Mapping):
        config = json.dumps(config)
    elif config:
        with open(config, encoding="utf-8") as file:
            config = file.read()
    return (re.search(r'train_(micro_)?batch_size(_per_gpu)?"?\s*:\s*\d',
                      config) is not None or
            "batch" in (options.get("dim") or {}) or
            any(options.get(name) is not None for name in _SAMPLES))


def _refuse_other_step(plan: Plan, example: Arrays) -> None:
    """Refuses a plan whose steps have other samples than the example, which is a
    batch of one: the model has fixed those of a micro-batch."""
    samples = plan.facts["micro_batch"]
    for one in plan.facts["inputs"]:
        given = example.arrays.get(one["name"])
        if given is None or not one["per_sample"]:
            continue
        rows = one["shape"][0] // samples
        if len(given) != plan.samples * rows:
            had = len(given) // rows
            raise InvalidArgument(
                f"the model fixes {samples} samples of a micro-batch, so a step "
                f"(ranks={plan.ranks}, accumulate={plan.facts['accumulate']}) "
                f"takes {plan.samples}, and the example has {had}. Leave the "
                "number open: in forward() and the loss x.shape[0] for len(x) and "
                f"for {samples}, of a file a symbolic first dim; or "
                f"give micro_batch={samples}, to train on {plan.samples} a step")


def check_options(options: dict, call: Callable) -> None:
    """Raises what `call`, zg_compile or zg_advise, finds wrong with options,
    before there is a model."""
    made = ctypes.c_void_p()
    with tempfile.TemporaryDirectory() as folder:
        arguments = plan_arguments(options, folder)
        path = os.path.join(folder, "missing.onnx")
        code = call(os.fsencode(path), texts(arguments), len(arguments), None, 0,
                    ctypes.byref(made))
        forget_notes()
        if path not in library().zg_error().decode():
            check(code, folder + os.sep)


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
        arguments = plan_arguments(options, folder)
        code = library().zg_compile(os.fsencode(model), texts(arguments),
                                    len(arguments), arrays.pointer, arrays.count,
                                    ctypes.byref(handle))
        check(code, folder + os.sep, lambda text: with_places(text, model))
    plan = Plan(handle.value, functools.partial(compile_file, model, example,
                                                **options))
    say_notes()
    if not _says_samples(options):
        _refuse_other_step(plan, arrays)
    return plan
