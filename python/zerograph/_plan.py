"""Plans: looked at, kept in files, trained with."""

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
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._arrays import Arrays
from ._library import (Error, InvalidArgument, check, home, in_python, library,
                       say_notes, take_text)
from ._options import command_line

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _bytes(size: int | str, cards: Iterable[str]) -> int:
    if not isinstance(size, str):
        return int(size)
    match = re.fullmatch(r"([0-9.]+)\s*([kKMGT]?i?B?)", size.strip())
    if not match or match[2] not in _UNITS:
        raise InvalidArgument(
            f"'{size}' is no size: write 80GiB, 80GB or bytes" +
            (f"; nor a card that runs the plan, as {', '.join(cards)}" if cards
             else "; cards have names for plans with target=\"cuda:sm_90\""))
    return int(float(match[1]) * _UNITS[match[2]])


#: The bytes of a page that a notebook keeps with its output.
_LARGEST_PAGE = 1 << 20


class Plan:
    """A compiled training step: all that ranks will compute, keep and
    exchange. `compile` and `load` make one."""

    def __init__(self, handle: int, again: Callable | None = None):
        self._handle = ctypes.c_void_p(handle)
        self._again = again  # compiles with more options
        #: Has the buffers of a module that are constants of its plan.
        self.constants: dict[str, Any] = {}
        #: Names the groups of parameters of an optimizer of PyTorch, in order.
        self.groups: list[str] = []
        #: Checks what fixed= inputs of a module decide.
        self.decided: Any = None
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
        plan.fits("80GiB"); of a plan for GPUs also whether a card has, by its
        name: plan.fits("h100")."""
        cards = self.facts["memory"]["cards"]
        if isinstance(size, str) and size.lower() in cards:
            room = cards[size.lower()]
        else:
            room = _bytes(size, cards)
        return self.memory.get("device", 0) <= room

    def save(self, path: str | os.PathLike) -> None:
        """Writes the plan, for `load` and for `zerograph train`. That of a
        module has no weights: give them by load_weights."""
        check(library().zg_plan_write(self._handle, os.fsencode(path)))

    @functools.cached_property
    def checkpoint_arrays(self) -> list[dict]:
        """The arrays of a checkpoint: of each the "name", "type", "shape",
        "parameter" and "role", which is "values", or what the optimizer keeps
        of it, as "exp_avg"."""
        text = ctypes.c_void_p()
        check(library().zg_plan_checkpoint(self._handle, ctypes.byref(text)))
        return json.loads(take_text(text))

    def write_checkpoint(self, folder: str | os.PathLike,
                         arrays: Mapping[str, Any], **run) -> str:
        """Writes a checkpoint of arrays, `checkpoint_arrays` by name, and
        returns its path; Trainer(plan, resume=folder) goes on from it. They may
        be another trainer's: {**t.state_dict(), **t.optimizer_state()}. `run`
        says where the run is: steps, updates, seed, shuffle, samples_per_step,
        loss_scale, as docs/checkpoints.md describes them."""
        if not isinstance(arrays, Mapping):
            raise InvalidArgument("the checkpoint: expected a dictionary of "
                                  "arrays by name, as checkpoint_arrays has "
                                  "them")
        given = Arrays(arrays, [], "the checkpoint")
        path = ctypes.c_void_p()
        run = {key: value for key, value in run.items() if value is not None}
        check(library().zg_checkpoint_write(
            self._handle, json.dumps(run).encode(), given.pointer, given.count,
            os.fsencode(folder), ctypes.byref(path)))
        written = take_text(path)
        say_notes()
        return written

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
        if self._again is None:
            raise Error("a plan that was loaded has no model to compile: "
                        "compile it with dump_ir=FOLDER")
        self._again(dump_ir=os.fspath(folder))

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


def plans_of(plan) -> list[Plan]:
    """Returns the plans of a trainer, which take the same inputs."""
    try:
        plans = [plan] if isinstance(plan, Plan) else list(plan)
    except TypeError:
        plans = [plan]
    for one in plans:
        if not isinstance(one, Plan):
            raise InvalidArgument(
                f"expected a plan, or a list of plans, found a {type(one).__name__}"
                ": zg.compile makes a plan of a file or a module")
        if one.inputs != plans[0].inputs:
            raise InvalidArgument(
                f"a plan has the inputs {', '.join(one.inputs)}, another "
                f"{', '.join(plans[0].inputs)}: those of one trainer take the same")
        if one.decided is not None and len(plans) > 1:
            raise InvalidArgument("a plan with fixed= has a trainer of its own: "
                                  "what its inputs decide is not their shapes")
    if not plans:
        raise InvalidArgument("a trainer needs a plan")
    return plans


def load(path: str | os.PathLike) -> Plan:
    """Reads a plan that `Plan.save` or `zerograph compile` wrote."""
    handle = ctypes.c_void_p()
    check(library().zg_plan_read(os.fsencode(path), ctypes.byref(handle)))
    plan = Plan(handle.value)
    say_notes()
    return plan
