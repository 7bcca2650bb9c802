"""Trainers: steps of the caller's, with batches in memory."""

from __future__ import annotations

import atexit
import ctypes
import json
import math
import os
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._arrays import Arrays, at, empty, widened
from ._library import (Error, InvalidArgument, Step, check, library,
                       say_notes, take_text, texts)
from ._loss import Evaluation, Loss, loss_of
from ._options import command_line
from ._plan import Plan, plans_of
from ._rates import Rates, rates_of

#: Trainers that have not ended, in the order in which they were made: the end of
#: the process ends them so, in every process.
_open: dict[int, weakref.ref[Trainer]] = {}


class _Memory:
    """A trainer of the library, which lives as long as somebody sees its
    memory."""

    def __init__(self, handle: ctypes.c_void_p):
        self.handle = handle
        finalizer = weakref.finalize(self, library().zg_trainer_free, handle)
        finalizer.atexit = False  # `_end_all` ends what is open, in order


class Trainer:
    """Trains with a plan, a step at a time; or with several of one module, for
    batches of other shapes: lengths, or fewer samples. They train the same
    parameters, and each batch is of the first plan that it fits.

    Options are those of `zerograph train` that do not concern files of data:
    load_weights="model.safetensors" (or arrays by name),
    init_missing="normal:0.02", seed=1,
    resume="checkpoints", checkpoint="checkpoints", every=100, log="log.jsonl".

    All ranks of the plan are threads here, unless mpirun, srun or torchrun
    started the process: then it is one rank, and every process makes the same
    calls. Use it in a `with` block: where it is left by an exception, the other
    processes end too.
    """

    def __init__(self, plan: Plan | Iterable[Plan], **options):
        plans = plans_of(plan)
        self._library = library()
        self._memory = None
        self._plan = plan = plans[0]
        self._names = plan.inputs
        self._metric_names = plan.facts["metrics"]
        handle = ctypes.c_void_p()
        with tempfile.TemporaryDirectory() as folder:
            arguments = command_line(options, folder)
            handles = (ctypes.c_void_p * len(plans))(
                *(one._handle.value for one in plans))
            code = self._library.zg_trainer_create_of(
                handles, len(plans), texts(arguments), len(arguments),
                ctypes.byref(handle))
            check(code, leave_out=folder + os.sep)
        self._memory = _Memory(handle)
        self._process = os.getpid()
        self._step = Step()
        self._rates: dict[str | None, float] = {}  # None: of all groups
        self._entries: dict[str, list[dict]] = {}
        _open[id(self)] = weakref.ref(self)
        say_notes(leave_out=folder + os.sep)

    @property
    def plan(self) -> Plan:
        """The plan, or the first of several."""
        return self._plan

    @property
    def steps(self) -> int:
        """The steps that were made, also those before a checkpoint."""
        return self._position()[0]

    @property
    def updates(self) -> int:
        """The steps that updated something."""
        return self._position()[1]

    def step(self, batch: Mapping[str, Any] | tuple | list,
             lr: Rates = None) -> Loss:
        """Makes a step: forward, backward, what ranks exchange, the update.

        `batch` has an array for each input, or is a tuple in the order of
        `plan.inputs`. Its first dimension is samples: `plan.samples` of them,
        for all ranks; in one of several processes its own share will do too.
        `lr` replaces the rates of all groups, and the schedule; or, as
        {"default": 1e-3, "*.bias": 1e-2}, those of the groups that it names as
        `plan.facts["groups"]` does; or, where the plan's optimizer was PyTorch's,
        those of its groups in their order, as a scheduler's get_last_lr() does.
        """
        arrays = self._arrays_of(batch)
        self._set_rate(lr)
        check(self._library.zg_trainer_step(self._live(), arrays.pointer,
                                            arrays.count,
                                            ctypes.byref(self._step)))
        return self._made()

    def accumulate(self, batch: Mapping[str, Any] | tuple | list) -> None:
        """Does the first part of a step, all but the update: `gradients` has
        what it made, where the plan was compiled with dump_gradients=True."""
        arrays = self._arrays_of(batch)
        check(self._library.zg_trainer_accumulate(self._live(), arrays.pointer,
                                                  arrays.count))

    def update(self, lr: Rates = None) -> Loss:
        """Does the second part of a step."""
        self._set_rate(lr)
        check(self._library.zg_trainer_update(self._live(),
                                              ctypes.byref(self._step)))
        return self._made()

    def discard(self) -> None:
        """Drops the gradients in place of `update`: the step is made anew, with
        other parameters or another batch. For plans of two micro-batches a step
        or more; with one, `accumulate` makes the update too."""
        check(self._library.zg_trainer_discard(self._live()))

    def evaluate(self, batches: Mapping[str, Any] | Iterable) -> Evaluation:
        """Returns the mean loss of samples that are not trained on, and the
        plan's metrics, without dropout and with BatchNorm's running statistics:
        of one batch, or of all in an iterable. Each has any number of samples; in
        several processes all give the same. The plan was compiled with
        evaluate=True."""
        if isinstance(batches, Mapping) or (
                isinstance(batches, tuple) and
                not isinstance(batches[0], (Mapping, tuple, list))):
            batches = [batches]
        losses = divisors = weights = 0.0
        metrics = dict.fromkeys(self._metric_names, 0.0)
        for batch in _with_progress(batches):
            arrays = self._arrays_of(batch)
            loss, divisor = ctypes.c_double(), ctypes.c_double()
            check(self._library.zg_trainer_evaluate(
                self._live(), arrays.pointer, arrays.count, ctypes.byref(loss),
                ctypes.byref(divisor)))
            losses += loss.value
            divisors += divisor.value
            sums, weight = self._metrics(evaluated=True)
            weights += weight
            for name, one in sums.items():
                metrics[name] += one
        say_notes()
        if not divisors:
            raise Error("there is no batch to evaluate")
        found = Evaluation(losses / divisors)
        found.metrics = {name: one / weights for name, one in metrics.items()}
        return found

    def state_dict(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Returns the parameters by name, as the optimizer has them: in float32
        where the plan computes in 16 bits.

        With copy=False those that one rank holds whole are views of its memory,
        which show the latest update. None of these arrays can be written, as
        there are more copies than one: `load_state_dict` writes all.
        """
        return self._read("parameters", copy)

    def load_state_dict(self, state: Mapping[str, Any],
                        strict: bool = True) -> None:
        """Gives the parameters other values, by the names of `state_dict()`;
        what the optimizer keeps, and the count of steps, stay. With
        strict=False those that `state` lacks stay too. All processes give the
        same. An error changes nothing."""
        self._write("parameters", state, strict)

    def load_optimizer_state(self, state: Mapping[str, Any],
                             strict: bool = True) -> None:
        """Does the same for what the optimizer keeps, by the names of
        `optimizer_state()`."""
        self._write("states", state, strict)

    def load_from(self, module) -> None:
        """Gives the parameters the values of a PyTorch module, and of its buffers
        of floats that are in its state_dict(): the counterpart of `load_into`.
        Other buffers are constants of the plan, and one that has changed is
        refused."""
        from . import names
        names.check_constants(module, self._plan.constants)
        self.load_state_dict(names.read(
            module, {one["name"]: one["shape"]
                     for one in self._arrays("parameters")}))

    def load_into(self, module) -> None:
        """Gives a PyTorch module the parameters, and the buffers that are
        trained with them; it is the one that was exported, or one like it."""
        from . import names
        names.load(module, self.state_dict(copy=False))

    def gradients(self) -> dict[str, np.ndarray]:
        """Returns the mean gradients, between `accumulate` and `update`, of a
        plan that was compiled with dump_gradients=True."""
        return self._read("gradients", copy=True)

    def optimizer_state(self) -> dict[str, np.ndarray]:
        """Returns what the optimizer keeps of each parameter, as
        "fc.weight.exp_avg"."""
        return self._read("states", copy=True)

    def save_weights(self, path: str | os.PathLike,
                     adapters_alone: bool = False) -> None:
        """Writes all weights as .safetensors, with what adapters add to them;
        or what was trained alone."""
        if os.fspath(path).endswith((".pt", ".pth", ".onnx")):
            raise InvalidArgument(
                f"{path}: it writes .safetensors; for torch.save use load_into "
                "and the module's state_dict")
        check(self._library.zg_trainer_save(self._live(), os.fsencode(path),
                                            adapters_alone))

    def save(self, folder: str | os.PathLike) -> str:
        """Writes a checkpoint, from which Trainer(plan, resume=folder) goes on
        with the same bits, also of a plan for other ranks; returns its path.
        Checkpoints of `every` come to the same folder from now on."""
        path = ctypes.c_void_p()
        check(self._library.zg_trainer_checkpoint(
            self._live(), os.fsencode(folder), ctypes.byref(path)))
        text = take_text(path)
        say_notes()
        return text

    def close(self) -> None:
        """Ends the run in good order; all processes call it. A `with` block
        does."""
        if self._memory is None:
            return
        try:
            check(self._library.zg_trainer_end(self._memory.handle))
        finally:
            self._forget()
        say_notes()

    def abandon(self, reason: str = "its caller failed") -> None:
        """Ends the run for all ranks, since this process cannot go on."""
        if self._memory is not None:
            self._library.zg_trainer_abort(self._memory.handle,
                                           reason.encode())
            self._forget()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, kind, error, _traceback) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon(f"{kind.__name__}: {error}")

    def _arrays_of(self, batch) -> Arrays:
        """Returns the arrays of a batch, unless its values decide otherwise than
        the example's."""
        arrays = Arrays(batch, self._names)
        if self._plan.decided is not None:
            self._plan.decided.check_parts(arrays.arrays,
                                           self._plan.facts["inputs"])
        return arrays

    def _live(self) -> ctypes.c_void_p:
        if self._memory is None:
            raise Error("this trainer was closed: make another one, with "
                        "resume=FOLDER to go on from a checkpoint")
        return self._memory.handle

    def _forget(self) -> None:
        self._memory = None  # views may still have it
        _open.pop(id(self), None)

    def _metrics(self, evaluated: bool) -> tuple[dict[str, float], float]:
        """Returns the sums of the last step's metrics, or evaluation's, and what
        they are to be divided by."""
        names = self._metric_names
        sums = (ctypes.c_double * len(names))()
        divisor = ctypes.c_double()
        check(self._library.zg_trainer_metrics(
            self._live(), evaluated, sums, len(names), ctypes.byref(divisor)))
        return dict(zip(names, sums)), divisor.value

    def _made(self) -> Loss:
        loss = loss_of(self._step, self._metrics(evaluated=False)[0]
                       if self._metric_names else {})
        say_notes()
        return loss

    def _set_rate(self, lr: Rates) -> None:
        rates = rates_of(lr, self._plan.groups)
        if rates == self._rates:
            return
        self._rates = {None: math.nan}  # unlike any, where one is refused
        check(self._library.zg_trainer_set_rate(self._live(),
                                                rates.get(None, math.nan)))
        for group, rate in rates.items():
            if group is not None:
                check(self._library.zg_trainer_set_group_rate(
                    self._live(), group.encode(), rate))
        self._rates = rates

    def _position(self) -> tuple[int, int]:
        steps, updates = ctypes.c_uint64(), ctypes.c_uint64()
        check(self._library.zg_trainer_position(
            self._live(), ctypes.byref(steps), ctypes.byref(updates)))
        return steps.value, updates.value

    def _arrays(self, what: str) -> list[dict]:
        if what not in self._entries:
            text = ctypes.c_void_p()
            check(self._library.zg_trainer_arrays(self._live(), what.encode(),
                                                  ctypes.byref(text)))
            self._entries[what] = json.loads(take_text(text))
        return self._entries[what]

    def _write(self, what: str, state: Mapping[str, Any], strict: bool) -> None:
        if not isinstance(state, Mapping) or not all(
                isinstance(name, str) for name in state):
            raise InvalidArgument(
                f"the state is a {type(state).__name__}, expected a dictionary "
                "of arrays by name, as state_dict() and optimizer_state() return")
        arrays = Arrays(state, [], "the state")
        check(self._library.zg_trainer_write(
            self._live(), what.encode(), arrays.pointer, arrays.count, strict))

    def _read(self, what: str, copy: bool) -> dict[str, np.ndarray]:
        entries = self._arrays(what)
        count = len(entries)
        found = (ctypes.c_void_p * count)()
        if not copy:
            check(self._library.zg_trainer_find(self._live(), what.encode(),
                                                found, count))
        arrays = [at(address, one["type"], one["shape"], self._memory)
                  if address
                  else empty(one["type"], one["shape"])
                  for one, address in zip(entries, found)]
        if copy or not all(found):
            wanted = (ctypes.c_void_p * count)(
                *(None if address else array.ctypes.data
                  for address, array in zip(found, arrays)))
            check(self._library.zg_trainer_read(self._live(), what.encode(),
                                                wanted, count))
        arrays = {one["name"]: widened(array, one["type"])
                  for one, array in zip(entries, arrays)}
        for array in arrays.values():
            array.flags.writeable = copy
        return arrays


def _with_progress(batches: Iterable) -> Iterable:
    """Shows how far it is, where tqdm is installed and somebody looks on."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return batches
    return tqdm(batches, desc="evaluate", disable=None, leave=False)


@atexit.register
def _end_all() -> None:
    """Ends trainers that nobody closed: in good order, unless the program ends
    by an exception."""
    failed = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    for reference in list(_open.values()):
        trainer = reference()
        if trainer is None or trainer._process != os.getpid():
            continue
        try:
            if failed is None:
                trainer.close()
            else:
                trainer.abandon(f"{type(failed).__name__}: {failed}")
        except Exception as error:  # the others are to end too
            print(f"zerograph: {error}", file=sys.stderr)
