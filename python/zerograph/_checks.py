"""Taking checks of values for passed, which a file cannot make: an `if` that only
raises, and an assert. What a value decides is read from the bytecode."""

from __future__ import annotations

import dis
import functools
import types

#: Stand between what makes a value and the jump that asks it.
_BETWEEN = {"TO_BOOL", "NOT_TAKEN", "NOP", "CACHE", "EXTENDED_ARG"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}


class _Code:
    """Has the instructions of a function."""

    def __init__(self, code: types.CodeType):
        bytecode = dis.Bytecode(code)
        self.instructions = list(bytecode)
        self.places = {one.offset: place
                       for place, one in enumerate(self.instructions)}
        # Before Python 3.11 nothing says where exceptions are handled.
        end = max(self.places) + 1
        self._handled = [(entry.start, entry.end) for entry in getattr(
            bytecode, "exception_entries", None) or ()] or [
                (0, end) for one in self.instructions
                if one.opname == "SETUP_FINALLY"]

    def ways(self, place: int) -> dict[bool, int] | None:
        """Returns where an instruction leads to, by the truth of the value that it
        asks; None: it asks for none."""
        one = self.instructions[place]
        if "POP_JUMP" not in one.opname or "NONE" in one.opname:
            return None
        jumps = "TRUE" in one.opname
        return {jumps: self.places[one.argval], not jumps: place + 1}

    def next(self, place: int) -> int:
        """Returns the place of the next question, or of the end of what comes in
        any case."""
        seen = set()
        while place not in seen:
            seen.add(place)
            one = self.instructions[place]
            if one.opname in ("JUMP_FORWARD", "JUMP_ABSOLUTE"):
                place = self.places[one.argval]
            elif (one.opcode in _JUMPS or place + 1 == len(self.instructions) or
                  one.opname.startswith(("RAISE", "RERAISE", "RETURN"))):
                break
            else:
                place += 1
        return place

    def raises(self, place: int) -> bool:
        """Tells whether what comes in any case raises, and nothing here handles
        it."""
        one = self.instructions[self.next(place)]
        return one.opname == "RAISE_VARARGS" and not any(
            start <= one.offset < end for start, end in self._handled)

    def is_same(self, place: int, other: int) -> bool:
        """Tells whether two places do the same in any case: compilers copy a return
        at the end."""
        def rest(begin: int) -> list:
            end = self.next(begin)
            return [end] if not self.instructions[end].opname.startswith(
                "RETURN") else [(one.opname, one.argval) for one in
                                self.instructions[begin:end + 1]]
        return rest(place) == rest(other)

    def only_raises(self, place: int, leave: int) -> bool:
        """Tells whether more questions lead to a raise or to `leave`, as those
        after the first one of `if a and b and c: raise`."""
        if self.raises(place):
            return True
        ways = self.ways(self.next(place))
        return ways is not None and any(
            self.is_same(ways[value], leave) and
            self.only_raises(ways[not value], leave) for value in ways)


_code = functools.lru_cache(maxsize=None)(_Code)


def passing(frame: types.FrameType) -> bool | None:
    """Returns what the value that a frame is about to ask must be, so that nothing
    is raised; None: it decides something else."""
    code = _code(frame.f_code)
    place = code.places.get(frame.f_lasti)
    if place is None:
        return None
    if code.ways(place) is None:  # it makes the value
        place += 1
        while code.instructions[place].opname in _BETWEEN:
            place += 1
    ways = code.ways(place)
    if ways is None:
        return None
    for value in ways:
        other = ways[not value]
        if code.only_raises(other, ways[value]) and not code.raises(ways[value]):
            return value
    return None
