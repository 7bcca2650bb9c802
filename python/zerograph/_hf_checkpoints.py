"""Checkpoints of a run, its state beside each, and which of them is the best."""

from __future__ import annotations

import contextlib
import os
import shutil

import transformers
from transformers.trainer_callback import TrainerState

from ._checkpoint import newest, steps_in
from ._launch import is_first
from ._library import InvalidArgument, warn
from ._trainer import Trainer as _Trainer


def check_best(args, eval_dataset) -> None:
    """Refuses to look for the best model where nothing would find one."""
    if not args.load_best_model_at_end and args.save_strategy != "best":
        return
    asked = ("load_best_model_at_end=True" if args.load_best_model_at_end else
             "save_strategy='best'")
    if eval_dataset is None or args.eval_strategy == "no":
        raise InvalidArgument(f"{asked} compares evaluations: give eval_dataset=, "
                              "and eval_strategy=\"epoch\" or \"steps\"")
    if args.metric_for_best_model is None:
        raise InvalidArgument(f"{asked} compares a number of evaluations: give "
                              "metric_for_best_model=, as \"loss\"")


def _state(checkpoint: str) -> str:
    """Returns the file that has the state of the run at a checkpoint."""
    return checkpoint + ".json"


def _remove(checkpoint: str) -> None:
    """Removes a checkpoint, which has another name before it is half removed:
    a run removes what is left under that."""
    os.rename(checkpoint, checkpoint + ".removing")
    shutil.rmtree(checkpoint + ".removing")
    with contextlib.suppress(FileNotFoundError):
        os.remove(_state(checkpoint))


def _keep(folder: str, count: int, best: str | None, keep_newest: bool) -> None:
    """Removes the oldest checkpoints until there are `count`; the best stays,
    and the newest if asked for."""
    names = steps_in(folder)
    spare = [one for one in (names[:-1] if keep_newest else names)
             if one != os.path.basename(best or "")]
    for name in spare[:max(0, len(names) - count)]:
        _remove(os.path.join(folder, name))


class Checkpoints:
    """Saves and loads, for the trainer that has the run."""

    _is_best = transformers.Trainer._determine_best_metric

    def _checkpoints(self) -> str:
        return os.path.join(self.args.output_dir, "checkpoints")

    def _newest(self) -> str:
        """Returns the folder whose newest checkpoint a run goes on from."""
        folder = self._checkpoints()
        if not os.path.isdir(folder) or not steps_in(folder):
            raise InvalidArgument(
                f"resume_from_checkpoint=True: there is no checkpoint in {folder}; "
                "leave it out to begin, or give the folder of one")
        return folder

    def _refuse_to_mix(self) -> None:
        """Refuses a folder of another run, before the first step."""
        folder = self._checkpoints()
        if (self.args.save_strategy != "no" and os.path.isdir(folder) and
                steps_in(folder)):
            raise InvalidArgument(
                f"{folder} holds checkpoints of an earlier run: go on from the "
                "last one with train(resume_from_checkpoint=True), or give "
                "another output_dir, or move them away")

    def _save(self) -> None:
        """Writes a checkpoint, and removes those for which `save_total_limit`
        leaves no place."""
        state = self.state
        self._trainer.save(self._checkpoints())
        path = os.path.join(self._checkpoints(),
                            f"step-{state.global_step:08d}")
        if state.best_global_step == state.global_step:
            state.best_model_checkpoint = path
        if is_first():
            state.save_to_json(_state(path))
            if self.args.save_total_limit:
                _keep(os.path.dirname(path), self.args.save_total_limit,
                      state.best_model_checkpoint, keep_newest=True)

    def _restore(self, resume: str) -> None:
        """Takes up what the run before has logged and found to be the best."""
        path = newest(os.path.abspath(resume))
        if not os.path.exists(_state(path)):
            warn(f"{_state(path)} is not there: the run goes on without the logs "
                 "and the best model of the one before")
            return
        before = TrainerState.load_from_json(_state(path))
        for name in ("log_history", "best_metric", "best_global_step"):
            setattr(self.state, name, getattr(before, name))
        if before.best_model_checkpoint:
            self.state.best_model_checkpoint = os.path.join(
                os.path.dirname(path),
                os.path.basename(before.best_model_checkpoint))

    def _end_with_best(self) -> None:
        """Gives the model the best weights if it is to have them, and removes
        what is left beside these if one checkpoint is to stay."""
        best = self.state.best_model_checkpoint
        if best and self.args.load_best_model_at_end:
            with _Trainer(self.plan, resume=best) as trainer:
                trainer.load_into(self.model)
        if best and self.args.save_total_limit == 1 and is_first():
            _keep(os.path.dirname(best), 1, best, keep_newest=False)
