"""Parts of functions that are written out for exporters, and of their tables."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch


def both(name: str, function: Callable) -> dict[Callable, Callable]:
    """Returns a table of a function of torch that is a tensor's method too."""
    return dict.fromkeys((getattr(torch, name), getattr(torch.Tensor, name)),
                         function)


def in_float32(function: Callable) -> Callable:
    """Returns a function of arguments of 16 bits, whose terms would have no room
    there."""
    @functools.wraps(function)
    def compute(*args, **options):
        narrow = [one for one in args if isinstance(one, torch.Tensor) and
                  one.is_floating_point() and one.dtype.itemsize < 4]
        if not narrow:
            return function(*args, **options)
        wide = (one.float() if any(one is two for two in narrow) else one
                for one in args)
        found = function(*wide, **options)
        return found if options.get("dtype") else found.to(narrow[0].dtype)
    return compute


def is_nan(input: torch.Tensor) -> torch.Tensor:
    """Is torch.isnan, which ONNX has for floats alone."""
    return (input.isnan() if input.is_floating_point() else
            torch.zeros_like(input, dtype=torch.bool))
