"""Finding the numbers that forward() counts and that change the loss later."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable

import torch

from ._run import Run, containers_of, quiet, varies

#: A counter is set this many steps ahead.
_AHEAD = 10**6


def _is_number(one) -> bool:
    return isinstance(one, numbers.Real) and not isinstance(one, bool)


class Counters:
    """Watches the numbers of a module's attributes, also in lists and
    dictionaries, from its making on."""

    def __init__(self, module: torch.nn.Module):
        self._before = containers_of(module)
        self._paths = {id(vars(part)): f"{path}." if path else ""
                       for path, part in module.named_modules()}

    def read(self, again: Callable[[], Run]) -> list[str]:
        """Returns the names of numbers that each run changes, as the first one
        did, and that make its loss another one after many more."""
        once = {(id(container), key)
                for container, key, _ in self._changed(self._before)}
        if not once:
            return []
        with torch.no_grad(), quiet():
            first = again()
        now = [(container, copy.copy(container)) for container, _ in self._before]
        _changes(first, again)
        found = []
        for container, key, step in self._changed(now):
            if (id(container), key) in once:
                kept = container[key]
                container[key] += _AHEAD * step
                if _changes(first, again):
                    found.append(self._paths.get(id(container), "") + str(key))
                container[key] = kept
        return found

    @staticmethod
    def _changed(before: list[tuple]) -> list[tuple]:
        """Returns containers with a key of theirs whose number was another
        before, or not there, and by how much it has grown."""
        changed = []
        for container, was in before:
            keyed = isinstance(container, dict)
            if not keyed and not isinstance(container, list):
                continue  # a set has no places
            then = was if keyed else dict(enumerate(was))
            for key, now in container.items() if keyed else enumerate(container):
                old = then.get(key, 0)
                if _is_number(now) and _is_number(old) and now != old:
                    changed.append((container, key, now - old))
        return changed


def _changes(first: Run, again: Callable[[], Run]) -> bool:
    try:
        return varies(first, again, times=1)
    except Exception:  # it counts beyond the end of a list
        return True
