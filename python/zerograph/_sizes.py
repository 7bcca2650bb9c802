"""Sizes that a file leaves open, as the number of samples."""

from __future__ import annotations

import torch


def may_vary(size) -> bool:
    """Tells whether a size is such a one: only these are symbols where a module
    is traced or exported."""
    return isinstance(size, torch.SymInt)
