"""An optimizer of PyTorch as options of a plan."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from ._library import InvalidArgument
from ._options import as_list

#: Maps each of PyTorch's optimizers that a plan has to its name here, and what it
#: reads of a group of parameters.
_KINDS = {
    torch.optim.SGD: ("sgd", ("momentum", "weight_decay")),
    torch.optim.Adam: ("adam", ("betas", "eps", "weight_decay")),
    torch.optim.AdamW: ("adamw", ("betas", "eps", "weight_decay")),
    torch.optim.Adagrad: ("adagrad", ("eps", "weight_decay"))}

#: Maps what a plan has one value of, whatever it is called here, to that value.
_FIXED = {"dampening": 0, "amsgrad": False, "maximize": False, "lr_decay": 0,
          "initial_accumulator_value": 0}


def _escaped(name: str) -> str:
    """Returns a pattern of a name; a semicolon would end a group."""
    return re.sub(r"([*?\[\]\\@!+()|])", r"\\\1", name).replace(";", "?")


def _candidates(name: str) -> Iterable[tuple[str, Callable[[str], bool]]]:
    """Returns patterns that match the name, each with what it matches."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        begin, end = ".".join(parts[:count]) + ".", "." + ".".join(parts[-count:])
        yield _escaped(begin) + "*", lambda one, begin=begin: one.startswith(begin)
        yield "*" + _escaped(end), lambda one, end=end: one.endswith(end)
    yield _escaped(name), lambda one: one == name


def pattern_of(names: list[str], others: list[str]) -> str:
    """Returns a pattern that matches these names and none of the others."""
    fitting: dict[str, set[str]] = {}
    for name in names:
        for pattern, matches in _candidates(name):
            if pattern not in fitting and not any(map(matches, others)):
                fitting[pattern] = set(filter(matches, names))
    left, chosen = set(names), []
    while left:
        best = min(fitting, key=lambda one: (-len(fitting[one] & left),
                                             len(one), one))
        chosen.append(best)
        left -= fitting[best]
    return chosen[0] if len(chosen) == 1 else f"@({'|'.join(chosen)})"


def _numbers_of(group: dict, names: tuple[str, ...]) -> dict[str, Any]:
    """Returns the numbers of a group. A scheduler begins with another rate, which
    is not the plan's."""
    found = {"lr": group.get("initial_lr", group["lr"]),
             **{name: group[name] for name in names}}
    return {name: tuple(map(float, one)) if isinstance(one, (tuple, list)) else
            float(one) for name, one in found.items()}


def _kind_of(optimizer: torch.optim.Optimizer) -> tuple[str, tuple[str, ...]]:
    """Returns the name of an optimizer that a plan has, and what it reads of a
    group."""
    kind = type(optimizer)
    if kind not in _KINDS:
        raise InvalidArgument(
            f"optimizer is a {kind.__module__}.{kind.__name__}: a plan has "
            f"{', '.join(one.__name__ for one in _KINDS)} of torch.optim, and "
            "by name \"lion\" and \"lamb\"")
    decoupled = {bool(group.get("decoupled_weight_decay"))
                 for group in optimizer.param_groups}
    if len(decoupled) > 1:
        raise InvalidArgument("optimizer has groups with and without "
                              "decoupled_weight_decay; a plan has one kind for all")
    return _KINDS[torch.optim.AdamW if decoupled == {True} else kind]


def _has_made_steps(state: dict) -> bool:
    # Adagrad's state is there from the beginning.
    return ("momentum_buffer" in state if "step" not in state else
            int(state["step"]) > 0)


def _check(optimizer: torch.optim.Optimizer) -> None:
    for name, value in _FIXED.items():
        if any(group.get(name, value) != value
               for group in optimizer.param_groups):
            raise InvalidArgument(f"optimizer has {name} other than {value}, "
                                  "which a plan has not")
    if any("max_momentum" in group for group in optimizer.param_groups):
        raise InvalidArgument("optimizer has a scheduler that changes its momentum "
                              "in each step, which a plan does not: give that "
                              "cycle_momentum=False")
    if len({group.get("nesterov") for group in optimizer.param_groups}) > 1:
        raise InvalidArgument("optimizer has groups with and without nesterov; a "
                              "plan has one for all parameters")
    if any(map(_has_made_steps, optimizer.state.values())):
        raise InvalidArgument(
            "optimizer has made steps, and a plan's state is new: give one that "
            "has made none; docs/checkpoints.md says how to go on with a run of "
            "PyTorch")


def _inverse(known: Mapping) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for file, one in known.items():
        name = one["name"] if isinstance(one, dict) else one
        files.setdefault(name, []).append(file)
    return files


def _names_of(optimizer, parameters: dict[str, torch.Tensor]
              ) -> tuple[list[list[str]], list[str]]:
    """Returns the names of the trained parameters of each group, and of those in
    none."""
    left = {name: one for name, one in parameters.items() if one.requires_grad}
    strangers = {id(one): one for group in optimizer.param_groups
                 for one in group["params"]}
    groups = []
    for group in optimizer.param_groups:
        own = set(map(id, group["params"]))
        groups.append([name for name, one in left.items() if id(one) in own])
        left = {name: one for name, one in left.items() if id(one) not in own}
    for one in parameters.values():
        strangers.pop(id(one), None)
    if strangers:
        raise InvalidArgument(
            "optimizer has a parameter of shape "
            f"{tuple(next(iter(strangers.values())).shape)} that is none of the "
            "module's: make it of module.parameters(), after the module was "
            "moved or wrapped")
    return groups, list(left)


def _trained(groups: list[list[str]], options: dict) -> list[list[str]]:
    """Returns the groups without names that the options freeze."""
    frozen = as_list(options.get("freeze"))
    groups = [[name for name in group
               if not any(fnmatch.fnmatchcase(name, one) for one in frozen)]
              for group in groups]
    if options.get("lora") and sum(map(bool, groups)) > 1:
        raise InvalidArgument(
            "with lora=, new matrices are trained, which no group of the optimizer "
            "has: give an optimizer of one group")
    return groups


def _configured(config) -> Mapping:
    if isinstance(config, (str, os.PathLike)):
        with contextlib.suppress(OSError, ValueError), open(
                config, encoding="utf-8") as file:
            config = json.load(file)
    return config if isinstance(config, Mapping) else {}


def with_optimizer(module: torch.nn.Module, options: dict,
                   known: Mapping | None = None) -> tuple[dict, list[str]]:
    """Returns options that say what an optimizer of PyTorch does, if they have
    one, and the names of a plan's groups in the order of the optimizer's; "" for
    one that nothing in the plan is of. `known` has the names of the module's
    tensors by those of a file's initializers, which are the plan's."""
    optimizer = options.get("optimizer")
    if not isinstance(optimizer, torch.optim.Optimizer):
        return options, []
    kind, read = _kind_of(optimizer)
    _check(optimizer)
    numbers = [_numbers_of(group, read) for group in optimizer.param_groups]
    for name in (*numbers[0], "nesterov", "group", "no_decay", "train"):
        if options.get(name) is not None:
            raise InvalidArgument(f"{name} is the optimizer's: leave it out, or "
                                  "give the optimizer's name in place of it")
    if "optimizer" in _configured(options.get("config")):
        raise InvalidArgument("config has an optimizer too: leave one out")
    parameters = dict(module.named_parameters())
    groups, left = _names_of(optimizer, parameters)
    if known is not None:
        files = _inverse(known)
        groups = [[file for name in group for file in files.get(name, [])]
                  for group in groups]
        left = [file for name in left for file in files.get(name, [])]
        groups = _trained(groups, options)
    trained = [name for group in groups for name in group]
    # The plan's own numbers are those of most parameters.
    most = max(range(len(groups)), key=lambda one: len(groups[one]))
    named, patterns = {}, []
    for number, names in enumerate(groups):
        if number == most or not names:
            patterns.append("default" if number == most else "")
            continue
        others = [name for name in trained + left if name not in set(names)]
        patterns.append(pattern_of(names, others))
        named[patterns[-1]] = numbers[number]
    found = {
        **options, **numbers[most], "optimizer": kind,
        "nesterov": optimizer.param_groups[most].get("nesterov") or None,
        "group": named or None,
        "freeze": as_list(options.get("freeze")) +
                  list(map(_escaped, left)) or None}
    return found, patterns
