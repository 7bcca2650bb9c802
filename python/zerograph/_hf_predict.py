"""Predictions and metrics as those of transformers.Trainer.

PyTorch computes them, from batches of any size, with the trained weights in
the module, and in the types that these have there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers.trainer_pt_utils import (EvalLoopContainer, find_batch_size,
                                           nested_detach)
from transformers.trainer_utils import (EvalLoopOutput, EvalPrediction,
                                        PredictionOutput, denumpify_detensorize,
                                        speed_metrics)
from transformers.utils import find_labels

from ._library import InvalidArgument
from ._trainer import Trainer as _Trainer
from ._wrapper import parameters_of


@contextlib.contextmanager
def _evaluation(model: torch.nn.Module, use_cache: bool):
    """Sets a module to evaluation, without the cache of generation unless asked
    for; after it each part has its own mode again."""
    modes = {part: part.training for part in model.modules()}
    config = getattr(model, "config", None)
    cached = getattr(config, "use_cache", None)
    model.eval()
    try:
        if cached is not None:
            config.use_cache = use_cache
        with torch.no_grad():
            yield
    finally:
        if cached is not None:
            config.use_cache = cached
        for part, mode in modes.items():
            part.training = mode


def _labels_of_model(trainer) -> list[str]:
    """Returns what the model calls the labels that it takes."""
    if trainer.args.label_names is not None:
        return trainer.args.label_names
    base = getattr(trainer.model, "get_base_model", lambda: trainer.model)()
    return find_labels(type(base))


def for_loss(trainer, batch: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a batch whose labels go to `loss=`, and not to the model: they
    have names that no argument of it has."""
    taken = {*_labels_of_model(trainer)} & {*parameters_of(trainer.model)}
    return {f"loss_{name}" if name in taken else name: one
            for name, one in batch.items()}


def _label_names(trainer, batch: Mapping[str, Any]) -> list[str]:
    """Returns what a batch calls the labels: those of `loss=` are what the model
    does not take."""
    if trainer._loss is None:
        return _labels_of_model(trainer)
    if trainer.args.label_names is not None:
        return [*for_loss(trainer, dict.fromkeys(trainer.args.label_names))]
    taken = parameters_of(trainer.model)
    return [name for name in batch if name not in taken]


def _predict(trainer, batch: Mapping[str, Any], ignored: list[str]) -> tuple:
    """Returns the loss of a batch, what else the model returns, and the labels.
    Without labels there is no loss."""
    names = _label_names(trainer, batch)
    labels = tuple(batch[name] for name in names if batch.get(name) is not None)
    complete = bool(names) and len(labels) == len(names)
    loss = None
    if trainer._loss is None:
        output = trainer.model(**batch)
    else:
        output = trainer.model(**{name: one for name, one in batch.items()
                                  if name not in names})
        if complete:
            loss = trainer._loss(getattr(output, "logits", output), *labels)
    if isinstance(output, Mapping):
        loss = output.get("loss", loss)
        found = tuple(one for name, one in output.items()
                      if name not in (*ignored, "loss"))
    else:
        found = output if isinstance(output, (tuple, list)) else (output,)
        if complete and trainer._loss is None:
            loss, found = found[0], found[1:]
    return (loss if complete else None, found[0] if len(found) == 1 else found,
            None if not complete else labels[0] if len(labels) == 1 else labels)


def _gather(trainer, loader: DataLoader, ignored: list[str], loss_only: bool
            ) -> dict[str, Any]:
    """Returns what metrics may ask for of all batches, None where there is
    none. Predictions of other lengths are padded with -100."""
    kept = ["losses"] if loss_only else ["losses", "predictions", "label_ids"]
    if "inputs" in trainer.args.include_for_metrics and not loss_only:
        kept.append("inputs")
    all_of = {name: EvalLoopContainer(trainer.args.eval_do_concat_batches)
              for name in kept}
    device = next(trainer.model.parameters()).device
    trainer.callback_handler.eval_dataloader = loader
    for batch in loader:
        batch = {name: one.to(device) if isinstance(one, torch.Tensor) else one
                 for name, one in batch.items()}
        loss, predictions, labels = _predict(trainer, batch, ignored)
        if trainer.preprocess_logits_for_metrics is not None and not loss_only:
            predictions = trainer.preprocess_logits_for_metrics(predictions,
                                                                labels)
        found = {"losses": None if loss is None else
                 loss.mean().repeat(find_batch_size(batch)),
                 "inputs": batch.get(getattr(trainer.model, "main_input_name",
                                             "input_ids")),
                 "predictions": predictions, "label_ids": labels}
        for name in kept:
            if found[name] is not None:
                all_of[name].add(nested_detach(found[name]))
                all_of[name].to_cpu_and_numpy()
        trainer.control = trainer.callback_handler.on_prediction_step(
            trainer.args, trainer.state, trainer.control)
    return {name: one.get_arrays() for name, one in all_of.items()}


def _evaluate(trainer, loader: DataLoader, prefix: str,
              ignored: list[str] | None, loss_only: bool) -> EvalLoopOutput:
    """Returns predictions, labels and metrics of all batches: the loss is the
    mean over samples of the batches' losses."""
    if ignored is None:
        ignored = getattr(getattr(trainer.model, "config", None),
                          "keys_to_ignore_at_inference", ["cache"])
    with _evaluation(trainer.model, trainer.args.use_cache):
        found = _gather(trainer, loader, ignored, loss_only)
    predictions, labels = found.get("predictions"), found.get("label_ids")
    metrics = {}
    if (trainer.compute_metrics is not None and predictions is not None and
            labels is not None):
        if isinstance(predictions, tuple) and not predictions:
            raise InvalidArgument(
                "the model returns its loss alone, and compute_metrics= needs "
                "predictions: return (loss, predictions)")
        metrics = denumpify_detensorize(trainer.compute_metrics(EvalPrediction(
            predictions, labels, inputs=found.get("inputs"),
            losses=found["losses"]
            if "loss" in trainer.args.include_for_metrics else None)))
    if found["losses"] is not None:
        losses = found["losses"]
        metrics["loss"] = float(np.mean(np.concatenate(losses) if isinstance(
            losses, list) else losses))
    metrics = {name if name.startswith(f"{prefix}_") else f"{prefix}_{name}": one
               for name, one in metrics.items()}
    return EvalLoopOutput(predictions, labels, metrics, _sizes(loader)[0])


def _sizes(loader: DataLoader) -> tuple[int | None, int | None]:
    """Returns how many samples and batches a loader has; None where it does not
    tell."""
    try:
        return len(loader.dataset), len(loader)
    except TypeError:
        return None, None


class Predictions:
    """Evaluates and predicts, for the trainer that has the model."""

    def get_eval_dataloader(self, dataset=None) -> DataLoader:
        dataset = self.eval_dataset if dataset is None else dataset
        if dataset is None:
            raise InvalidArgument("there is no dataset to evaluate: give "
                                  "eval_dataset= here, or to the trainer")
        return DataLoader(dataset, self.args.per_device_eval_batch_size,
                          collate_fn=self._batch)

    def evaluate(self, eval_dataset=None, ignore_keys: list[str] | None = None,
                 metric_key_prefix: str = "eval") -> dict[str, float]:
        """Returns the mean loss of samples that are not trained on, and what
        `compute_metrics` says of the predictions; of a dictionary of datasets
        those of each, as "eval_NAME_loss"."""
        dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        prefix, metrics, begin = metric_key_prefix, {}, time.time()
        if isinstance(dataset, dict):
            for name, one in dataset.items():
                metrics.update(self.evaluate(one, ignore_keys,
                                             f"{prefix}_{name}"))
            return metrics
        loader = self.get_eval_dataloader(dataset)
        loss_only = (self.compute_metrics is None or
                     self.args.prediction_loss_only)
        if not (loss_only and self._evaluates):
            metrics = self._predict(loader, prefix, ignore_keys,
                                    loss_only).metrics
        if self._evaluates:
            metrics[f"{prefix}_loss"] = self._plan_loss(loader)
        metrics.update(speed_metrics(prefix, begin, *_sizes(loader)))
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics)
        return metrics

    def predict(self, test_dataset, ignore_keys: list[str] | None = None,
                metric_key_prefix: str = "test") -> PredictionOutput:
        """Returns the predictions, and if there are labels, these and their
        metrics."""
        loader, begin = self.get_eval_dataloader(test_dataset), time.time()
        found = self._predict(loader, metric_key_prefix, ignore_keys,
                              self.args.prediction_loss_only)
        found.metrics.update(speed_metrics(metric_key_prefix, begin,
                                           *_sizes(loader)))
        self.control = self.callback_handler.on_predict(
            self.args, self.state, self.control, found.metrics)
        return PredictionOutput(found.predictions, found.label_ids,
                                found.metrics)

    def _predict(self, loader: DataLoader, prefix: str,
                 ignored: list[str] | None, loss_only: bool) -> EvalLoopOutput:
        if self._trainer is not None:
            self._trainer.load_into(self.model)
        return _evaluate(self, loader, prefix, ignored, loss_only)

    def _plan_loss(self, loader: DataLoader) -> float:
        """Returns the loss that the plan computes."""
        batches = (self._shapes.fit(batch) for batch in loader)
        if self._trainer is not None:
            return self._trainer.evaluate(batches)
        # A weight that is tied has the plan's name among its own.
        weights = {name: one.detach() for name, one in
                   self.model.named_parameters(remove_duplicate=False)}
        with _Trainer(self.plans, load_weights=weights) as trainer:
            return trainer.evaluate(batches)
