"""Sizes that a file leaves open, as the number of samples."""

from __future__ import annotations

import torch


def may_vary(size) -> bool:
    """Tells whether a size is such a one. Where gradients are traced before the
    module is exported, all of them are symbols."""
    return isinstance(size, torch.SymInt) and torch.compiler.is_exporting()
