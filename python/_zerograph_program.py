"""The program of the package zerograph as a command on the PATH: apart from it,
since it needs neither numpy nor a second copy of the library."""

import os
import pathlib
import sys


def zerograph() -> None:
    """Becomes the program, with this process's arguments."""
    path = pathlib.Path(__file__).parent / "zerograph" / "bin" / "zerograph"
    os.execv(path, [str(path), *sys.argv[1:]])
