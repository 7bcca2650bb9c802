"""Keywords and methods of transformers.Trainer that mean nothing here."""

from __future__ import annotations

from typing import Any

from ._library import InvalidArgument

#: Maps keywords of transformers.Trainer that are not taken to what is.
_INSTEAD = {
    "model_init": "call it, and give model= what it returns",
    "optimizers": "optim=, learning_rate= and lr_scheduler_type= of "
                  "TrainingArguments say how to update",
    "optimizer_cls_and_kwargs": "optim= and learning_rate= of TrainingArguments "
                                "say how to update",
    "compute_loss_func": "give loss=, a function of the output and the labels "
                         "that returns their mean loss",
    "tokenizer": "give it as processing_class="}

#: Names methods of transformers.Trainer that nothing calls here.
_NEVER_CALLED = ("compute_loss", "training_step", "prediction_step",
                 "create_optimizer", "create_scheduler",
                 "create_optimizer_and_scheduler")


def refuse_others(trainer, options: dict[str, Any]) -> dict[str, Any]:
    """Refuses what transformers.Trainer takes, and returns other options."""
    for name, remedy in _INSTEAD.items():
        if options.get(name) not in (None, (None, None)):
            raise InvalidArgument(f"{name}= is not taken here: {remedy}")
    for name in _NEVER_CALLED:
        if hasattr(trainer, name):
            raise InvalidArgument(
                f"{type(trainer).__name__} has a method {name}, which is never "
                "called, as the plan has the whole step: give loss=, and "
                "TrainingArguments that say how to update")
    return {name: one for name, one in options.items() if name not in _INSTEAD}
