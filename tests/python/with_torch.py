"""Runs a test in the Python that ZEROGRAPH_TORCH names, or else in this one."""

import os
import sys

python = os.environ.get("ZEROGRAPH_TORCH", sys.executable)
os.execv(python, [python, *sys.argv[1:]])
