"""Keywords as options of the command: zero=3 is --zero=3."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping

from ._arrays import write_arrays
from ._files import named_by_content
from ._library import InvalidArgument
from ._torch_files import is_theirs, weights


#: Maps what others call options, and the library has nothing near, to what it is
#: here.
_NAMES_OF_OTHERS = {
    **dict.fromkeys(("max_grad_norm", "grad_clip", "gradient_clipping"),
                    "here it is clip_norm"),
    **dict.fromkeys(("dtype", "mixed_precision", "bf16", "fp16", "amp"),
                    "here it is precision, as precision=\"bf16\""),
    **dict.fromkeys(("accumulation_steps", "accumulate_grad_batches",
                     "grad_accum"),
                    "here it is accumulate"),
    **dict.fromkeys(("gradient_checkpointing", "activation_checkpointing"),
                    "here it is recompute, as recompute=\"units\""),
    **dict.fromkeys(("world_size", "devices", "nprocs"), "here it is ranks"),
    **dict.fromkeys(("loss_fn", "criterion"), "here it is loss"),
    **dict.fromkeys(("seed", "load_weights", "init_missing", "resume",
                     "checkpoint", "every", "log"), "give it to zg.Trainer"),
    **dict.fromkeys(("epochs", "num_epochs", "steps", "max_steps"),
                    "call trainer.step(batch) that often, in a loop")}

_PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def as_list(value) -> list:
    """Returns the values of an option that is given once, several times or not."""
    return [] if value is None else [value] if isinstance(value, str) else [*value]


def _remedy(name: str, value) -> str:
    """Says what to write in place of PyTorch's optimizer or type."""
    if name == "optimizer":
        kind = value if isinstance(value, type) else type(value)
        return (f"write its name, as optimizer=\"{kind.__name__.lower()}\", and "
                "its numbers as options, as lr=0.1; with a module, optimizer may "
                "be one of torch.optim, made of its parameters")
    known = _PRECISIONS.get(str(value).rpartition(".")[2])
    return (f"write {name}=\"{known}\"" if known and name == "precision" else
            "expected a text, a number, or a list or dictionary of these")


def _text(name: str, value) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text(name, one)}" for key, one in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(name, one) for one in value)
    if isinstance(value, numbers.Number):
        return repr(value.item() if hasattr(value, "item") else value)
    try:
        return os.fspath(value)
    except TypeError:
        kind = value if isinstance(value, type) else type(value)
        raise InvalidArgument(f"option {name} is of type {kind.__name__}: "
                              f"{_remedy(name, value)}") from None


def _values(name: str, value) -> list[str]:
    """Returns the texts of an option, one for each time that it is given."""
    if isinstance(value, Mapping):
        # dim={"seq": 128} and group={"*.bias": {"weight_decay": 0}}
        return [f"{key}{':' if isinstance(one, Mapping) else '='}"
                f"{_text(name, one)}" for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        if not value and name == "train":
            raise InvalidArgument("train names nothing to train")
        # Another empty list is an option that is not given.
        numeric = value and all(isinstance(one, numbers.Number) for one in value)
        if numeric:
            return [_text(name, value)]  # betas=(0.9, 0.95)
        return [_text(name, one) for one in value]
    return [_text(name, value)]


def command_line(options: dict, folder: str) -> list[str]:
    """Returns the options as texts. A configuration that is a dictionary, as
    DeepSpeed takes it, becomes a file in `folder`; so do names that are one, and
    weights that are arrays, a file of torch.save or a folder of Hugging Face."""
    arguments = []
    for name, value in options.items():
        if value is None:
            continue
        if name in ("config", "names") and isinstance(value, Mapping):
            path = os.path.join(folder, f"{name}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(value, file)
            value = named_by_content(path)
        if name == "load_weights":
            source = "load_weights"  # errors call the file so
            if not isinstance(value, Mapping) and is_theirs(value):
                source = os.path.basename(os.path.abspath(value))
                value = weights(value)
            if isinstance(value, Mapping):
                path = os.path.join(folder, source)
                write_arrays(path, value, "load_weights")
                value = named_by_content(path)
        option = "--" + name.replace("_", "-")
        arguments += [f"{option}={text}" for text in _values(name, value)]
    return arguments


def plan_arguments(options: dict, folder: str) -> list[str]:
    """Returns options of a plan as `command_line` does."""
    for name, value in options.items():
        if value is not None and name in _NAMES_OF_OTHERS:
            raise InvalidArgument(f"unknown option '{name}' of a plan; "
                                  f"{_NAMES_OF_OTHERS[name]}")
    return command_line(options, folder)
