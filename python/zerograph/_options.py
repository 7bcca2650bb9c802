"""Keywords as options of the command: zero=3 is --zero=3."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping

from ._arrays import write_arrays
from ._library import InvalidArgument
from ._torch_files import is_theirs, weights


def _text(value) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_text(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Number):
        return repr(value.item() if hasattr(value, "item") else value)
    try:
        return os.fspath(value)
    except TypeError:
        raise InvalidArgument(
            f"an option is a {type(value).__name__}: expected a text, a number, "
            "or a list or dictionary of these") from None


def _values(value) -> list[str]:
    """Returns the texts of an option, one for each time that it is given."""
    if isinstance(value, Mapping):
        # dim={"seq": 128} and group={"*.bias": {"weight_decay": 0}}
        return [f"{name}{':' if isinstance(one, Mapping) else '='}{_text(one)}"
                for name, one in value.items()]
    if isinstance(value, (list, tuple)):
        numeric = all(isinstance(one, numbers.Number) for one in value)
        texts = [_text(one) for one in value]
        return [",".join(texts)] if numeric else texts  # betas=(0.9, 0.95)
    return [_text(value)]


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
            value = path
        if name == "load_weights":
            source = "load_weights"  # what errors call the file
            if not isinstance(value, Mapping) and is_theirs(value):
                source = os.path.basename(os.path.abspath(value))
                value = weights(value)
            if isinstance(value, Mapping):
                path = os.path.join(folder, source)
                write_arrays(path, value, "load_weights")
                value = path
        option = "--" + name.replace("_", "-")
        arguments += [f"{option}={text}" for text in _values(value)]
    return arguments
