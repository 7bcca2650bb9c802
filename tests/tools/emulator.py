"""Environments in which the programs find the emulator as they would find
NVIDIA's driver and libraries."""

import os

EMULATOR = os.environ["ZEROGRAPH_EMULATOR"]


def variables(**settings):
    """`SEED=1` is ZEROGRAPH_EMULATOR_SEED=1: see tests/emulator/README.md."""
    paths = [EMULATOR, os.environ.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": ":".join(filter(None, paths)),
            **{"ZEROGRAPH_EMULATOR_" + name: str(value)
               for name, value in settings.items()}}


def emulated(**settings):
    """Options of run_program."""
    return {"env": {**os.environ, **variables(**{"SEED": 1, **settings})}}
