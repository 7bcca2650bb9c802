"""The names of a model's tensors, for who exports from a checkout: see
python/zerograph/names.py."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from zerograph.names import names_of, write  # noqa: E402, F401
