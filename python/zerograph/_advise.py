"""Which strategy trains a model fastest on a machine."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._compile import export_to, is_module
from ._compile_file import example_arrays
from ._library import check, library, say_notes, take_text, texts
from ._options import plan_arguments
from ._places import with_places


def _keywords(options: dict) -> dict:
    """Returns options of the command as keywords of `zg.compile`."""
    return {name.replace("-", "_"): int(value) if name == "zero" else value
            for name, value in options.items()}


def advise(model, machine: str | os.PathLike,
           example: Mapping[str, Any] | tuple | None = None,
           loss: str | Callable | None = None,
           metrics: Mapping[str, Callable] | None = None,
           fixed: str | Iterable[str] | None = None, **options) -> dict:
    """Finds the strategies that train MODEL.onnx, or a module of PyTorch,
    fastest on a machine, as `zerograph advise` does: it plans each, at several
    micro-batches, and simulates a step. Nothing runs.

    `machine` is one of the project, as "h100-sxm", or a file of figures.
    `example`, `loss`, `metrics` and `fixed` are as for `zg.compile`. The example
    is a batch of a step, which says how many samples one has; without it,
    global_batch= may. Other options are those of `zerograph advise` and of
    `zg.compile`, as ranks=8: what is given stays as it is.

    Returns a dictionary. Its "trials" are what fits, fastest first, each with
    "samples_per_second", "device_bytes" and "options", for `zg.compile`, of
    which "target" is the machine's device; "rejected" is what does not fit, and
    why. "estimated" is true where plans of fewer layers were simulated in place
    of the plan.
    """
    text = ctypes.c_void_p()
    with tempfile.TemporaryDirectory() as folder:
        if is_module(model):
            made = export_to(folder, model, example, loss, metrics or {}, fixed,
                             {"machine": machine, **options}, "none",
                             library().zg_advise)
            model, example, options = made.path, made.batch, made.options
        else:
            options = {"loss": loss, **options}
        arrays = example_arrays(model, example)
        arguments = plan_arguments({"machine": machine, **options}, folder)
        check(library().zg_advise(os.fsencode(model), texts(arguments),
                                  len(arguments), arrays.pointer, arrays.count,
                                  ctypes.byref(text)), folder + os.sep,
              lambda error: with_places(error, model))
    found = json.loads(take_text(text))
    say_notes()
    for ranks in (found, *found.get("or_ranks", [])):
        for trial in ranks["trials"]:
            trial["options"] = _keywords(trial["options"])
    return found
