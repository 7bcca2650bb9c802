"""Plans: compiled once, looked at, kept in files, trained with."""

from __future__ import annotations

import ctypes
import functools
import html
import json
import os
import re
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

from ._arrays import Arrays, as_numpy
from ._library import (Error, InvalidArgument, check, home, library, take_text,
                       texts)
from ._options import command_line

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _bytes(size: int | str) -> int:
    if isinstance(size, int):
        return size
    match = re.fullmatch(r"([0-9.]+)\s*([kKMGT]?i?B?)", size.strip())
    if not match or match[2] not in _UNITS:
        raise InvalidArgument(f"'{size}' is no size: write 80GiB, 80GB or bytes")
    return int(float(match[1]) * _UNITS[match[2]])


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
        inspect --PART` says, as "memory", "traffic" or "costs"."""
        text = ctypes.c_void_p()
        check(library().zg_plan_inspect(self._handle, part.encode(),
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
        """Writes the plan, for `load` and for `zerograph train`."""
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
            raise Error(done.stderr.strip())
        return done.stdout

    def __str__(self) -> str:
        return self.inspect()

    def __repr__(self) -> str:
        return f"<zerograph.Plan of {self.facts['model']}, {self.ranks} ranks>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.inspect())}</pre>"


def _micro_batch(example: Mapping[str, Any], options: dict) -> int | None:
    """Returns the samples of a rank's micro-batch, if `example` is the batch of
    a step and nothing else says it."""
    if options.get("micro_batch") or options.get("config"):
        return options.get("micro_batch")
    rows = [as_numpy(name, value)[0].shape[:1]
            for name, value in example.items()]
    samples = next((shape[0] for shape in rows if shape), None)
    parts = options.get("ranks") or 1
    parts *= options.get("accumulate") or 1
    if samples is not None and samples % parts:
        raise InvalidArgument(
            f"the example has {samples} samples, which ranks and accumulate "
            f"do not divide into {parts} equal micro-batches")
    return samples and samples // parts


def compile(model: str | os.PathLike, example: Mapping[str, Any] | None = None,
            **options) -> Plan:
    """Compiles MODEL.onnx to a plan.

    `example` is a batch of a step, whose shapes say how large the model's
    symbolic dims are; its values are not read. Options are those of `zerograph
    compile`, with underscores: ranks=2, zero=3, micro_batch=8,
    precision="bf16", betas=(0.9, 0.95), dim={"seq": 128},
    group={"*.bias": {"weight_decay": 0}}, config={...} (DeepSpeed's).
    docs/options.md has all of them.
    """
    arrays = Arrays({}, [])
    given = dict(options)
    if example is not None:
        arrays = Arrays(example, list(example))
        given["micro_batch"] = _micro_batch(example, options)
    handle = ctypes.c_void_p()
    with tempfile.TemporaryDirectory() as folder:
        arguments = command_line(given, folder)
        check(library().zg_compile(os.fsencode(model), texts(arguments),
                                   len(arguments), arrays.pointer, arrays.count,
                                   ctypes.byref(handle)))
    return Plan(handle.value, {"model": model, "example": example, **options})


def load(path: str | os.PathLike) -> Plan:
    """Reads a plan that `Plan.save` or `zerograph compile` wrote."""
    handle = ctypes.c_void_p()
    check(library().zg_plan_read(os.fsencode(path), ctypes.byref(handle)))
    return Plan(handle.value)
