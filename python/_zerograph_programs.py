"""The programs of the package zerograph as commands on the PATH: apart from it,
since they need neither numpy nor the library."""

import os
import pathlib
import sys


def _become(program: str) -> None:
    """Replaces this process, with its arguments."""
    path = str(pathlib.Path(__file__).parent / "zerograph" / "bin" / program)
    os.execv(path, [path, *sys.argv[1:]])


def zerograph() -> None:
    _become("zerograph")


def zerograph_run() -> None:
    _become("zerograph-run")
