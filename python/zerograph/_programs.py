"""The programs of the package, as commands on the PATH."""

import os
import sys

from ._library import home


def _become(program: str) -> None:
    """Replaces this process, with its arguments."""
    path = str(home() / "bin" / program)
    os.execv(path, [path, *sys.argv[1:]])


def zerograph() -> None:
    _become("zerograph")


def zerograph_run() -> None:
    _become("zerograph-run")
