"""Writes out where PyTorch gives no gradient, or another than that of what it
computes: detach() is in a file, no_grad() is not, and of a
torch.autograd.Function there is only what its forward() computes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from unittest import mock

import torch
import torch.utils.checkpoint
from torch.utils._pytree import tree_map

Function = type[torch.autograd.Function]


def functions_of(nodes: set) -> dict[Function, bool]:
    """Returns the Functions that autograd's nodes are of, and whether backward()
    of each multiplies the gradient, element by element, by numbers that do not
    depend on it: so it can be written out."""
    found: dict[Function, bool] = {}
    for node in nodes:
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            cls = node._forward_cls
            found[cls] = found.get(cls, True) and _multiplies(node)
    return found


def _as_tuple(gradients) -> tuple:
    return gradients if isinstance(gradients, tuple) else (gradients,)


def _multiplies(node) -> bool:
    """Tries gradients of several sizes, since a backward() may have limits."""
    if len(node._input_metadata) != 1:
        return False
    output = node._input_metadata[0]
    ones = torch.ones(output.shape, dtype=output.dtype, device=output.device)
    signs = ones.flatten().cumsum(0).remainder(5).sub(2).view_as(ones)
    try:
        with torch.no_grad():
            factors = _as_tuple(node.apply(ones))
            if any(one is not None and one.shape != ones.shape
                   for one in factors):
                return False
            return all(
                factor is None or torch.allclose(
                    gradient / size, signs * factor, rtol=1e-4,
                    atol=1e-5 * float(factor.abs().max()))
                for size in (1e-6, 1e-3, 1.0, 1e3, 1e6)
                for factor, gradient in zip(
                    factors, _as_tuple(node.apply(size * signs))))
    except Exception:  # whatever it needs that autograd gives it alone
        return False


class _Context:
    """Stands for the context of a Function whose backward() is written out."""

    saved_tensors = ()

    def __init__(self, arguments):
        self.needs_input_grad = tuple(
            isinstance(one, torch.Tensor) and one.requires_grad
            for one in arguments)

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_dirty(self, *_):
        raise NotImplementedError("what it was given has another value now")

    def _nothing(self, *_):
        pass

    mark_non_differentiable = set_materialize_grads = _nothing
    save_for_forward = _nothing


def with_gradient(value: torch.Tensor, source: torch.Tensor,
                  factor: torch.Tensor) -> torch.Tensor:
    """Returns a value whose gradient, times a factor, goes to `source` too: what
    is added to it is 0, also where `source` is not finite."""
    nothing = source + -source.detach()  # a - a would be taken for a mistake
    return value + torch.where(nothing == 0, nothing, 0.0) * factor.detach()


def _written_out(cls: Function, forward, has_setup: bool, arguments):
    """Returns what a Function computes, with the gradients of its backward()."""
    context = _Context(arguments)
    if has_setup:
        result = forward(*arguments)
        cls.setup_context(context, arguments, result)
    else:
        result = forward(context, *arguments)
    factors = _as_tuple(cls.backward(context, torch.ones_like(result)))
    result = result.detach()
    for one, needs, factor in zip(arguments, context.needs_input_grad, factors):
        if needs and factor is not None:
            result = with_gradient(result, one, factor)
    return result


_IN_PLACE = re.compile(
    "[^_].*[^_]_|__setitem__|"
    "__i(add|sub|mul|truediv|floordiv|mod|pow|and|or|xor|lshift|rshift)__")


def written_by(func, args):
    """Returns the tensor that a function of PyTorch changes in place, if it
    does."""
    in_place = _IN_PLACE.fullmatch(getattr(func, "__name__", ""))
    return (args[0] if in_place and args and isinstance(args[0], torch.Tensor)
            else None)


class PyTorchGradients(torch.overrides.TorchFunctionMode):
    """Has an exporter write where gradients stop under torch.no_grad(), and what
    `functions`, as `functions_of` returns them, have for gradients. Those whose
    backward() cannot be written have the gradients of their forward()."""

    def __init__(self, functions: Mapping[Function, bool]):
        super().__init__()
        self._functions = functions
        self._enabled = True  # as the user's code has it
        self._within = 0  # so many functions, which compute without gradients
        self._patches = contextlib.ExitStack()

    def __enter__(self):
        # A class may have its forward() of another one here.
        patches = [mock.patch.object(cls, "forward",
                                     staticmethod(self._forward(cls, multiplies)))
                   for cls, multiplies in self._functions.items()]
        for one in patches:
            self._patches.enter_context(one)
        return super().__enter__()

    def __exit__(self, *error):
        self._patches.close()
        return super().__exit__(*error)

    def _forward(self, cls: Function, multiplies: bool):
        forward = cls.forward
        has_setup = cls.setup_context is not torch.autograd.Function.setup_context

        def called(*given):
            self._within += 1
            try:
                if not self._enabled:
                    return _detached(forward(*given), _is_float)
                if not multiplies:
                    return forward(*given)
                return _written_out(cls, forward, has_setup,
                                    given if has_setup else given[1:])
            finally:
                self._within -= 1
        return called

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch._C._set_grad_enabled and not self._within:
            self._enabled = args[0]
        enabled = self._enabled and not torch.is_inference_mode_enabled()
        if enabled or self._within:
            return func(*args, **kwargs)
        if getattr(func, "__name__", "") == "__get__":  # of .T, or a flag
            trained = isinstance(args[0], torch.Tensor) and args[0].requires_grad
            result = func(*args, **kwargs)
            return _detached(result, _is_float) if trained else result
        written = written_by(func, args)
        rest = args if written is None else args[1:]
        rest, kwargs = _detached((rest, kwargs), _is_trained)
        if written is not None and written.grad_fn is not None:
            through = _write_through(func, written, rest, kwargs)
            if through is not None:
                return through
        return func(*(rest if written is None else (written, *rest)), **kwargs)


def _write_through(func, written: torch.Tensor, rest, kwargs):
    """Changes a tensor in place, and lets gradients pass as if nothing had.
    Returns nothing, and has changed nothing, where that is not possible: of a
    part of a parameter, or where the shape becomes another."""
    if written._base is not None and written._base.is_leaf:
        return None
    changed = written.detach().clone()
    func(changed, *rest, **kwargs)
    if changed.shape != written.shape:
        return None
    with torch.enable_grad():
        return written.copy_(
            with_gradient(changed, written, torch.ones_like(changed)))


def _is_float(one: torch.Tensor) -> bool:
    return one.is_floating_point()


def _is_trained(one: torch.Tensor) -> bool:
    return one.requires_grad


def _detached(values, stops: Callable[[torch.Tensor], bool]):
    return tree_map(lambda one: one.detach() if isinstance(one, torch.Tensor) and
                    stops(one) else one, values)


def _call(function, preserve_rng_state, *args):
    return function(*args)


def checkpoints_called():
    """Has a re-entrant checkpoint compute as if there was none: its function
    runs without gradients, which are computed by another run."""
    return mock.patch.object(torch.utils.checkpoint.CheckpointFunction, "apply",
                             _call)
