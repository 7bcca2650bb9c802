"""Metrics: numbers of a module's output that are told beside the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ._library import InvalidArgument
from ._run import training
from ._watch import BACKWARD
from ._wrapper import Batch, ParameterRedirect, output_and_loss

#: Has functions of what forward() returns and the batch, by the names of what they
#: return.
Metrics = Mapping[str, Callable[[Any, Batch], torch.Tensor]]

_NUMBERS = {getattr(torch.Tensor, name): name for name in (
    "item", "tolist", "numpy", "__array__", "__float__", "__int__", "__bool__",
    "__index__", "__dlpack__")}
_GRADIENTS = {torch.autograd.grad, *BACKWARD}


class _Watch(torch.overrides.TorchFunctionMode):
    """Refuses what would be a constant of a file, in silence."""

    def __init__(self, name: str):
        super().__init__()
        self._name = name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _NUMBERS:
            raise InvalidArgument(
                f"metrics['{self._name}'] makes a number of Python or numpy of a "
                f"tensor, by {_NUMBERS[func]}(): a file would have that of the "
                "example. Compute it by functions of PyTorch, or of what the "
                "model returns outside of the plan")
        if func in _GRADIENTS:
            raise InvalidArgument(
                f"metrics['{self._name}'] takes gradients: have forward() or the "
                "loss take them, and return what the metric is of")
        return func(*args, **(kwargs or {}))


def _value(name: str, metric: Callable, output: Any, batch: Batch
           ) -> torch.Tensor:
    found = metric(output, batch)
    what = type(found).__name__
    if isinstance(found, (bool, int, float)):
        found = torch.tensor(found)
    if isinstance(found, torch.Tensor):
        if found.numel() == 1:
            return found.detach().reshape(())
        what = f"tensor of {found.ndim} dimensions"
    raise InvalidArgument(f"metrics['{name}'] returned a {what}, expected one "
                          "number, as a mean over samples")


def _tried(name: str, metric: Callable, output: Any, batch: Batch) -> float:
    """Computes a metric as PyTorch does."""
    try:
        with torch.random.fork_rng([]), _Watch(name):
            found = _value(name, metric, output, batch)
    except InvalidArgument:
        raise
    except Exception as error:
        raise InvalidArgument(
            f"metrics['{name}'], of what forward() returns and a dictionary with "
            f"{', '.join(batch)}, raised {type(error).__name__}: {error}"
        ) from error
    return float(found)


def checked(metrics: Metrics, module: torch.nn.Module, batch: Batch,
            loss: Callable | None) -> Metrics:
    """Returns metrics that also see what becomes of parameters and buffers that
    they keep. Refuses those that cannot be a file's outputs, by computing each of
    a batch twice."""
    if not isinstance(metrics, Mapping):
        raise InvalidArgument(f"metrics is a {type(metrics).__name__}, expected a "
                              "dictionary of functions by name")
    tensors = [name for named in (module.named_parameters(), module.named_buffers())
               for name, _ in named]
    for name, metric in metrics.items():
        if not callable(metric):
            raise InvalidArgument(
                f"metrics['{name}'] is a {type(metric).__name__}, expected a "
                "function of the module's output and the batch")
        if not isinstance(name, str) or name in ("", "loss", *batch, *tensors):
            raise InvalidArgument(
                f"a metric is called {name!r}, expected a text that is the name "
                "of neither the loss nor an input nor a tensor of the module")
    if metrics:
        # A module may take gradients itself, by its inputs too.
        arrays = {name: one.detach() for name, one in batch.items()}
        with training(module, loss), torch.enable_grad():
            output, _ = output_and_loss(module, arrays, loss)
            for name, metric in metrics.items():
                first, again = (_tried(name, metric, output, arrays)
                                for _ in range(2))
                if first != again and not (math.isnan(first) and
                                           math.isnan(again)):
                    raise InvalidArgument(
                        f"metrics['{name}'] is another number each time that it is "
                        "called, which a file cannot be: have it depend on its "
                        "arguments alone")
    redirect = ParameterRedirect(module, module)
    return {name: redirect.around(metric) for name, metric in metrics.items()}


def loss_and_metrics(module: torch.nn.Module, batch: Batch,
                     loss: Callable | None, metrics: Metrics
                     ) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Returns the loss of a batch, followed by metrics if there are any."""
    output, found = output_and_loss(module, batch, loss)
    return (found, *(_value(name, metric, output, batch)
                     for name, metric in metrics.items())) if metrics else found
