"""Complex parameters, which a file has as real ones whose last dim holds the two
parts. Optimizers of PyTorch take them so too."""

from __future__ import annotations

import contextlib

import torch
from torch.utils._pytree import tree_map


def as_stored(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor as a file has it, with the same memory."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


class ComplexParameters(torch.overrides.TorchFunctionMode):
    """Gives functions the complex numbers of parameters that are stored as
    real ones."""

    def __init__(self, places: list[tuple[dict, str]]):
        super().__init__()
        self._places = places

    def _now(self, one):
        if isinstance(one, torch.Tensor) and any(
                one is parameters[name] for parameters, name in self._places):
            return torch.view_as_complex(one)
        return one

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(self._now, (args, kwargs or {}))
        return func(*args, **kwargs)


@contextlib.contextmanager
def complex_parameters_stored(module: torch.nn.Module):
    """Has a module keep its complex parameters as real ones. Yields a mode within
    which it computes as before."""
    places = [(part._parameters, name) for part in module.modules()
              for name, one in part._parameters.items()
              if one is not None and one.is_complex()]
    own = [parameters[name] for parameters, name in places]
    stored = {id(one): torch.nn.Parameter(as_stored(one.detach()).clone(),
                                          one.requires_grad) for one in own}
    try:
        for (parameters, name), one in zip(places, own):
            parameters[name] = stored[id(one)]
        yield ComplexParameters(places) if places else contextlib.nullcontext()
    finally:
        for (parameters, name), one in zip(places, own):
            parameters[name] = one
