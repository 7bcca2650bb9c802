"""What PyTorch gives no gradient, or another than that of what it computes, in
operations that say so in a file: detach() is in one, no_grad() is not, and of a
torch.autograd.Function there is only what its forward() computes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves, tree_map

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
    if len(node._input_metadata) != 1:
        return False
    output = node._input_metadata[0]
    ones = torch.ones(output.shape, dtype=output.dtype, device=output.device)
    other = 4 * torch.randn_like(ones)
    try:
        pairs = zip(*(_as_tuple(node.apply(one)) for one in (ones, other)))
        return all(
            factor is None or factor.shape == ones.shape and
            torch.allclose(gradient, other * factor)
            for factor, gradient in pairs)
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

    def _nothing(self, *_):
        pass

    mark_dirty = mark_non_differentiable = _nothing
    set_materialize_grads = save_for_forward = _nothing


def _written_out(cls: Function, forward, has_setup: bool, arguments):
    """Returns what a Function computes, as a sum whose gradients are those of
    its backward(): what is added is 0."""
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
            result = result + (one - one.detach()) * factor.detach()
    return result


class PyTorchGradients(torch.overrides.TorchFunctionMode):
    """Has an exporter write where gradients stop under torch.no_grad(), and what
    `functions`, as `functions_of` returns them, have for gradients. Those whose
    backward() cannot be written have the gradients of their forward()."""

    def __init__(self, functions: Mapping[Function, bool]):
        super().__init__()
        self._functions = functions
        self._within = 0  # so many functions, which compute without gradients
        self._patches = contextlib.ExitStack()

    def __enter__(self):
        for cls, multiplies in self._functions.items():
            self._patches.enter_context(mock.patch.object(
                cls, "forward", staticmethod(self._forward(cls, multiplies))))
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
                if not multiplies:
                    return forward(*given)
                return _written_out(cls, forward, has_setup,
                                    given if has_setup else given[1:])
            finally:
                self._within -= 1
        return called

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if torch.is_grad_enabled() or self._within:
            return result
        given = [one for one in tree_leaves((args, kwargs))
                 if isinstance(one, torch.Tensor)]
        if not any(one.requires_grad for one in given):
            return result

        def stopped(one):
            made = (isinstance(one, torch.Tensor) and one.is_floating_point() and
                    not any(one is other for other in given))
            return one.detach() if made else one

        return tree_map(stopped, result)
