"""The numbers that a step and an evaluation return."""

from __future__ import annotations

import math

from ._library import Step


class Loss(float):
    """The loss of a step, a number that knows more:

    - `gradient_norm`: before clipping; None where the plan computes none
    - `learning_rate`: of the update, and the first group
    - `loss_scale`: that backward began with; 1 without fp16
    - `skipped`: nothing was updated, since gradients were not finite
    - `metrics`: the means of the plan's metrics, by name
    """

    gradient_norm: float | None
    learning_rate: float
    loss_scale: float
    skipped: bool
    metrics: dict[str, float]


class Evaluation(float):
    """The mean loss of an evaluation, with the means of the plan's `metrics`."""

    metrics: dict[str, float]


def loss_of(step: Step, metrics: dict[str, float]) -> Loss:
    """Returns the loss of a step that was made."""
    loss = Loss(step.loss)
    norm = step.gradient_norm
    loss.gradient_norm = None if math.isnan(norm) else norm
    loss.learning_rate = step.learning_rate
    loss.loss_scale = step.loss_scale
    loss.skipped = bool(step.skipped)
    loss.metrics = metrics
    return loss
