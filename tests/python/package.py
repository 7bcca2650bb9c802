"""Finds the package for the suites, and says where one cannot run for want of
others."""

import importlib
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
sys.path[:0] = [str(ROOT / "python"), str(TESTS / "tools")]

from support import BIN  # noqa: E402

os.environ["ZEROGRAPH_HOME"] = str(pathlib.Path(BIN).parent)


def need(*packages):
    """Ends the suite, which is then skipped, where one is missing."""
    try:
        for package in packages:
            importlib.import_module(package)
    except ImportError:
        # The words are unittest's, which tests/skipped.py reads.
        print(f"setUpModule (__main__) ... skipped 'this Python lacks one of "
              f"{', '.join(packages)}; set ZEROGRAPH_TORCH to one that has them'")
        print("Ran 0 tests")
        sys.exit(0)
