"""Learning rates that a caller gives with a step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from ._library import InvalidArgument

#: Are learning rates of a step: one, those of groups, or none.
Rates = Union[float, Sequence[float], Mapping[str, float], None]


def rates_of(lr: Rates, groups: Sequence[str]) -> dict[str | None, float]:
    """Returns rates by the names of the plan's groups; one under None is of all
    groups, and none at all leaves the schedule. A list is in the order of
    `groups`, those of the optimizer of PyTorch that the plan was compiled with."""
    given = _by_group(lr, groups)
    if not isinstance(given, Mapping):
        given = {None: given}
    elif not all(isinstance(group, str) for group in given):
        group = next(one for one in given if not isinstance(one, str))
        raise InvalidArgument(
            "lr has rates by the names of groups, which are texts; found "
            f"{group!r}")
    for rate in given.values():
        _check_number(rate)
    rates = {group: float(rate) for group, rate in given.items()
             if rate is not None}
    if any(map(math.isnan, rates.values())):
        raise InvalidArgument("lr is not a number")
    return rates


def _by_group(rates: Any, groups: Sequence[str]) -> Any:
    """Returns a list of rates by the names of groups, and others as they are."""
    if isinstance(rates, np.ndarray) and rates.ndim == 1:
        rates = rates.tolist()
    if not isinstance(rates, (list, tuple)):
        return rates
    if len(rates) != len(groups):
        raise InvalidArgument(
            f"lr has {len(rates)} rates" +
            (f", and the optimizer had {len(groups)} groups" if groups else
             ": a list is for a plan that was compiled with an optimizer of "
             "PyTorch, and not loaded; give a number, or numbers by the names "
             "of groups, as in plan.facts[\"groups\"]"))
    return {group: rate for group, rate in zip(groups, rates) if group}


def _check_number(rate: Any) -> None:
    if rate is None or (hasattr(rate, "__float__") and
                        not isinstance(rate, (bool, str))):
        return
    found = (repr(rate) if isinstance(rate, (bool, str)) else
             f"a {type(rate).__name__}")
    raise InvalidArgument(
        f"lr is {found}, expected a number, numbers by the names of groups, or "
        "what a scheduler's get_last_lr() returns")
