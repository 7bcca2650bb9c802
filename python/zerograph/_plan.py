"""Plans: compiled once, looked at, kept in files, trained with."""

from __future__ import annotations

import ctypes
import functools
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

from ._arrays import Arrays
from ._library import (Error, InvalidArgument, check, home, in_python, library, say_notes,
                       take_text, texts)
from ._options import command_line

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _bytes(size: int | str) -> int:
    if not isinstance(size, str):
        return int(size)
    match = re.fullmatch(r"([0-9.]+)\s*([kKMGT]?i?B?)", size.strip())
    if not match or match[2] not in _UNITS:
        raise InvalidArgument(f"'{size}' is no size: write 80GiB, 80GB or bytes")
    return int(float(match[1]) * _UNITS[match[2]])


#: The bytes of a page that a notebook keeps with its output.
_LARGEST_PAGE = 1 << 20


class Plan:
    """A compiled training step: all that ranks will compute, keep and
    exchange. `compile` and `load` make one."""

    def __init__(self, handle: int, origin: dict | None = None):
        self._handle = ctypes.c_void_p(handle)
        self._origin = origin  # what `dump` compiles again
        self._finalizer = weakref.finalize(self, library().zg_plan_free,
                                           self._handle)

    def inspect(self, part: str = "summary") -> str:
        """Returns a text about the plan: its summary, or what `zerograph
        inspect --PART` says, as "memory", "units" or "costs"."""
        text = ctypes.c_void_p()
        check(library().zg_plan_inspect(self._handle,
                                        part.lstrip("-").encode(),
                                        ctypes.byref(text)))
        return take_text(text)

    @functools.cached_property
    def facts(self) -> dict:
        """All that `zerograph inspect --json` says, but single steps."""
        return json.loads(self.inspect("json"))

    @property
    def ranks(self) -> int:
        return self.facts["ranks"]

    @property
    def samples(self) -> int:
        """The samples of a step, over all ranks and micro-batches."""
        return (self.ranks * max(1, self.facts["accumulate"]) *
                self.facts["micro_batch"])

    @property
    def inputs(self) -> list[str]:
        """The names of the arrays that a batch has."""
        return [one["name"] for one in self.facts["inputs"]]

    @functools.cached_property
    def memory(self) -> dict[str, int]:
        """The bytes that a rank needs, exactly, by the space where they are:
        device, pinned, host, nvme."""
        return {one["space"]: one["bytes"]
                for one in self.facts["memory"]["arenas"] if one["bytes"]}

    def fits(self, size: int | str) -> bool:
        """Tells whether a device with so much free memory has room for a rank:
        plan.fits("80GiB")."""
        return self.memory.get("device", 0) <= _bytes(size)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the plan, for `load` and for `zerograph train`. That of a
        module has no weights: give them by load_weights."""
        check(library().zg_plan_write(self._handle, os.fsencode(path)))

    def report(self, path: str | os.PathLike, **options) -> None:
        """Writes one page of HTML about the plan: memory, time, what it moves.
        Options are those of `zerograph report`, as machine="h100-sxm"."""
        self._run("report", options, "-o", os.fspath(path))

    def simulate(self, machine: str, **options) -> dict:
        """Predicts a step on a machine, as `zerograph simulate` does: its time,
        and what it goes to. Nothing runs."""
        return json.loads(self._run("simulate", {"machine": machine, **options},
                                    "--json"))

    def dump(self, folder: str | os.PathLike) -> None:
        """Compiles the model once more, and writes its IR after each phase."""
        if self._origin is None:
            raise Error("a plan that was loaded has no model to compile: "
                        "compile it with dump_ir=FOLDER")
        compile(**{**self._origin, "dump_ir": os.fspath(folder)})

    def _run(self, command: str, options: dict, *arguments: str) -> str:
        """Runs the program on the plan, and returns what it prints."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.zgplan")
            self.save(path)
            done = subprocess.run(
                [str(home() / "bin" / "zerograph"), command, path, *arguments,
                 *command_line(options, folder)],
                capture_output=True, text=True, check=False)
        if done.returncode:
            raise Error(in_python(done.stderr.strip().replace(f"{path}: ", "")))
        return done.stdout

    def __str__(self) -> str:
        return self.inspect()

    def __repr__(self) -> str:
        return f"<zerograph.Plan of {self.facts['model']}, {self.ranks} ranks>"

    def _repr_html_(self) -> str:
        """Shows the summary in a notebook, and the page of `report`, whose
        first chart is the memory over a step."""
        summary = f"<pre>{html.escape(self.inspect())}</pre>"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            self.report(path)
            if os.path.getsize(path) > _LARGEST_PAGE:
                return summary
            with open(path, encoding="utf-8") as file:
                page = html.escape(file.read())
        return (f'{summary}<iframe srcdoc="{page}" width="100%" height="640" '
                'style="border: 0"></iframe>')


def _is_module(model) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _compile_module(module, example, loss, options: dict) -> Plan:
    """Exports a PyTorch module, and compiles what it trains."""
    from ._export import export
    from ._wrapper import as_batch
    if example is None:
        raise InvalidArgument("to export a module, give example=, a batch")
    folder = tempfile.mkdtemp(prefix="zerograph-")
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "model.onnx")
    try:
        found = export(module, example, path, loss, compare=False)
        frozen = found.freeze + _list(options.pop("freeze", None))
        plan = compile(path, as_batch(module, example),
                       **{**options, "freeze": frozen or None})
    except BaseException:
        remove()
        raise
    weakref.finalize(plan, remove)  # the file has the weights
    return plan


def _list(value) -> list:
    return [] if value is None else [value] if isinstance(value, str) else value


def compile(model, example: Mapping[str, Any] | tuple | None = None,
            loss=None, **options) -> Plan:
    """Compiles MODEL.onnx, or a module of PyTorch, to a plan.

    `example` is a batch of a step, whose shapes say how large the model's
    symbolic dims and a micro-batch are; its values are not read. A module is exported first, as
    `zg.export` does, with `loss`, and without the comparison. Options are those of `zerograph
    compile`, with underscores: ranks=2, zero=3, micro_batch=8,
    precision="bf16", betas=(0.9, 0.95), dim={"seq": 128},
    group={"*.bias": {"weight_decay": 0}}, config={...} (DeepSpeed's).
    docs/options.md has all of them.
    """
    if example is not None and not (isinstance(example, Mapping) or
                                    _is_module(model)):
        raise InvalidArgument("the example of a file is a dictionary of arrays, "
                              "by the names of the model's inputs")
    if _is_module(model):
        return _compile_module(model, example, loss, options)
    if loss is not None and not isinstance(loss, str):
        raise InvalidArgument("a function as loss= is for modules of PyTorch; a "
                              "file takes a name, as loss=\"cross_entropy\"")
    given = dict(options, loss=loss)
    arrays = Arrays({}, [])
    if example is not None:
        arrays = Arrays(example, list(example))
    handle = ctypes.c_void_p()
    with tempfile.TemporaryDirectory() as folder:
        arguments = command_line(given, folder)
        check(library().zg_compile(os.fsencode(model), texts(arguments),
                                   len(arguments), arrays.pointer, arrays.count,
                                   ctypes.byref(handle)))
    plan = Plan(handle.value, {"model": model, "example": example,
                               "loss": loss, **options})
    say_notes()
    return plan


def load(path: str | os.PathLike) -> Plan:
    """Reads a plan that `Plan.save` or `zerograph compile` wrote."""
    handle = ctypes.c_void_p()
    check(library().zg_plan_read(os.fsencode(path), ctypes.byref(handle)))
    plan = Plan(handle.value)
    say_notes()
    return plan
