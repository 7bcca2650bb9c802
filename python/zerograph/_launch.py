"""Reads what a launcher, as mpirun or srun, tells a process of the others."""

from __future__ import annotations

import os

_RANKS = ("OMPI_COMM_WORLD_RANK", "RANK", "PMI_RANK", "PMIX_RANK",
          "SLURM_PROCID")
#: A batch script of Slurm has SLURM_PROCID too; srun sets the number of a step.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "PMI_SIZE",
          "SLURM_STEP_NUM_TASKS")


def _number(names: tuple[str, ...], otherwise: str) -> str:
    return next((os.environ[one] for one in names if one in os.environ),
                otherwise)


def is_first() -> bool:
    """Tells whether this is the only process, or the one that speaks for all."""
    return _number(_RANKS, "0") == "0"


def is_alone() -> bool:
    """Tells whether this is the only process."""
    return _number(_SIZES, "1") == "1"
