"""Keywords and methods of transformers.Trainer that mean nothing here."""

from __future__ import annotations

from typing import Any

import transformers

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
    "metrics": "give compute_metrics=, a function of transformers' EvalPrediction",
    "tokenizer": "give it as processing_class="}


def refuse_others(ours: type, trainer, options: dict[str, Any]
                  ) -> dict[str, Any]:
    """Refuses what transformers.Trainer takes and `ours` does not: keywords, and
    methods of a class that is derived from it. Returns other options."""
    for name, remedy in _INSTEAD.items():
        if options.get(name) not in (None, (None, None)):
            raise InvalidArgument(f"{name}= is not taken here: {remedy}")
    theirs = dir(transformers.Trainer)
    for name in sorted({name for name in dir(trainer) if name in theirs} -
                       set(dir(ours))):
        raise InvalidArgument(
            f"{type(trainer).__name__} has a method {name}, which is never "
            "called here: the plan has the whole step; give loss=, and "
            "TrainingArguments that say how to update")
    return {name: one for name, one in options.items() if name not in _INSTEAD}
