"""A PyTorch module and its loss as one module, which is what is exported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ContextManager

import torch
from torch.utils._pytree import tree_map

from ._gradients import Function, PyTorchGradients
from ._library import InvalidArgument

Batch = Mapping[str, torch.Tensor]


def as_batch(module: torch.nn.Module, example: Any,
             loss: Callable | None) -> dict[str, torch.Tensor]:
    """Returns the example as tensors by name. A tuple is `forward`'s arguments
    and then the labels; with a loss, whose labels must be there, arguments that
    may be left out are."""
    if isinstance(example, torch.Tensor):
        example = (example,)
    if isinstance(example, (tuple, list)):
        taken = parameters_of(module)
        names = list(taken)
        given = len(example) - 1  # without labels
        if loss is not None and given > 0 and all(
                taken[name].default is not inspect.Parameter.empty
                for name in names[given:]):
            names = names[:given]
        rest = len(example) - len(names)
        names += ["labels"] if rest == 1 else [f"labels{i}"
                                               for i in range(rest)]
        example = dict(zip(names, example))
    if not isinstance(example, Mapping):
        raise InvalidArgument(
            f"the example is a {type(example).__name__}, expected tensors by "
            "name, or a tuple of them")
    _refuse_names(module, example)
    batch = {}
    for name, value in example.items():
        try:
            batch[name] = torch.as_tensor(value).detach()
        except (TypeError, ValueError, RuntimeError) as error:
            raise InvalidArgument(
                f"the example's '{name}' is a {type(value).__name__}, expected "
                "a tensor: an input of a file is one array") from error
    return batch


def _refuse_names(module: torch.nn.Module, names) -> None:
    """Refuses an input that is called as a tensor of the module: in a file the
    two would be one."""
    for what, own in (("parameter", module._parameters),
                      ("buffer", module._buffers)):
        both = sorted(own.keys() & set(names))
        if both:
            raise InvalidArgument(
                f"the example's '{both[0]}' is called as a {what} of the module: "
                "in a file the two would be one. Call it otherwise in the "
                "example, and in forward() if it is an argument")


def check_module(module: torch.nn.Module) -> None:
    """Refuses what only wraps a module."""
    inner = {"OptimizedModule": "_orig_mod", "DataParallel": "module",
             "DistributedDataParallel": "module"}.get(type(module).__name__)
    if inner:
        raise InvalidArgument(
            f"the module is a {type(module).__name__}, expected the module that it "
            f"wraps: give its .{inner}")


def parameters_of(module: torch.nn.Module) -> Mapping[str, inspect.Parameter]:
    """Returns forward()'s parameters; of a module that passes all on to another,
    as PEFT's, those of the other."""
    parameters = inspect.signature(module.forward).parameters
    passes_on = any(one.kind is one.VAR_POSITIONAL
                    for one in parameters.values())
    if passes_on and hasattr(module, "get_base_model"):
        return parameters_of(module.get_base_model())
    return parameters


def _loss_in(output: Any) -> torch.Tensor:
    """Returns the loss that a model computes itself, as those of transformers
    do."""
    if isinstance(output, Mapping):
        output = output.get("loss")
    elif not isinstance(output, torch.Tensor):
        output = getattr(output, "loss", output[0]
                         if isinstance(output, (tuple, list)) else None)
    if not isinstance(output, torch.Tensor) or output.numel() != 1:
        raise InvalidArgument(
            "the module returns no loss: give loss=, a function of its output "
            "and the labels, as torch.nn.functional.cross_entropy")
    return output.reshape(())


def loss_of(module: torch.nn.Module, batch: Batch,
            loss: Callable | None) -> torch.Tensor:
    """Returns the loss of a batch."""
    return output_and_loss(module, batch, loss)[1]


def output_and_loss(module: torch.nn.Module, batch: Batch,
                    loss: Callable | None) -> tuple[Any, torch.Tensor]:
    """Returns what the module makes of a batch, and its loss. `loss` is called
    with the module's output and with what `forward` does not name."""
    if isinstance(loss, (str, type)):
        raise InvalidArgument(
            f"loss={loss!r}: expected a function of the output and the labels, "
            "as torch.nn.functional.cross_entropy or torch.nn.MSELoss()")
    taken = parameters_of(module)
    labels = [name for name in batch if name not in taken]
    if loss is None:
        if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
            labels = []
        if labels:
            raise InvalidArgument(
                f"forward() takes no {', '.join(labels)}: give loss=, a "
                "function of its output and the labels, as "
                "torch.nn.functional.cross_entropy")
        output = module(**batch)
        return output, _loss_in(output)
    if not labels:
        raise InvalidArgument(
            "forward() takes all of the example, and nothing is left for "
            "loss=: give a dictionary that calls the labels as none of "
            "forward()'s arguments is called. A loss without labels is what "
            "forward() returns")
    output = module(**{name: value for name, value in batch.items()
                       if name not in labels})
    # An output of transformers, whose loss takes its scores.
    logits = (getattr(output, "logits", None) if isinstance(output, Mapping)
              else None)
    try:
        found = loss(output if logits is None else logits,
                     *(batch[name] for name in labels))
    except AttributeError as error:
        if logits is None:
            raise
        raise InvalidArgument(
            f"loss= gets the model's logits, and asks more of them: {error}. "
            "Make a module of the model whose forward() returns a tuple of what "
            "the loss takes") from error
    if not isinstance(found, torch.Tensor) or found.numel() != 1:
        what = (f"a tensor of shape {list(found.shape)}"
                if isinstance(found, torch.Tensor) else type(found).__name__)
        raise InvalidArgument(f"loss= returned {what}, expected one number, the "
                              "mean over samples: reduction=\"mean\"")
    return output, found.reshape(())


class ParameterRedirect(torch.overrides.TorchFunctionMode):
    """Redirects the module's parameters and buffers to those of `other` in every
    function call: a loss may have kept them, as one that adds the squares of all.
    `other` is a copy, or the module itself, where exporters put other tensors."""

    def __init__(self, module: torch.nn.Module, other: torch.nn.Module):
        super().__init__()
        self.found = False  # one was given
        self._places = {
            id(one): (one, owner, name)
            for old, new in zip(module.modules(), other.modules())
            for tensors, owner in ((old._parameters, new._parameters),
                                   (old._buffers, new._buffers))
            for name, one in tensors.items() if one is not None}

    def _now(self, one):
        if id(one) not in self._places:
            return one
        self.found = True
        _, owner, name = self._places[id(one)]
        return owner[name]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(self._now, (args, kwargs or {}))
        return func(*args, **kwargs)

    def around(self, loss: Callable | None) -> Callable | None:
        """Returns a loss that is computed so."""
        def computed(*arguments):
            with self:
                return loss(*arguments)
        return (computed if callable(loss) and not isinstance(loss, type)
                else loss)


def with_loss(module: torch.nn.Module, names: list[str],
              compute: Callable[[Batch], Any], functions: Mapping[Function, bool],
              around: ContextManager) -> torch.nn.Module:
    """Returns a module that maps the tensors to what `compute` makes of them, a
    loss and perhaps metrics, within `around`. Its parameters are the module's own,
    by the names that they have there. While its `has_pytorch_gradients` is true,
    it has an exporter write these out, of `functions` too."""

    class WithLoss(torch.nn.Module):
        has_pytorch_gradients = False

        def compute(self, *arrays):
            batch = dict(zip(names, arrays))
            if not self.has_pytorch_gradients:
                with around:
                    return compute(batch)
            if torch.compiler.is_dynamo_compiling():
                raise NotImplementedError("it knows no function modes")
            with around, PyTorchGradients(functions):
                return compute(batch)

    # Exporters name dims by argument, so each has one.
    arguments = ", ".join(f"array{i}" for i in range(len(names)))
    scope: dict = {}
    exec(f"def forward(self, {arguments}): return self.compute({arguments})",
         scope)
    WithLoss.forward = scope["forward"]
    wrapped = WithLoss()
    for part in ("_modules", "_parameters", "_buffers",
                 "_non_persistent_buffers_set", "training"):
        object.__setattr__(wrapped, part, getattr(module, part))
    return wrapped
