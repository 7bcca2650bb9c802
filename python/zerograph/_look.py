"""Looking at how PyTorch computes a loss, for what a file of it would lack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from ._library import Error
from ._wrapper import Batch, Renewed, loss_of

_NUMBERS = {torch.Tensor.item, torch.Tensor.__float__, torch.Tensor.tolist,
            torch.Tensor.numpy}


class _Watch(torch.overrides.TorchFunctionMode):
    """Watches for what is computed of what is trained and gives no gradients."""

    def __init__(self):
        super().__init__()
        self.numbers = False  # Python's, or arrays of numpy
        self.no_grad = False  # something is computed of what is cut off
        self.data = False  # what .data has given is changed in place
        self._cut = WeakTensorKeyDictionary()  # computed while gradients are off
        self._data = WeakTensorKeyDictionary()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.autograd.grad:
            raise Error(
                "the module or its loss takes gradients itself, by "
                "torch.autograd.grad or torch.func, as a gradient penalty does: "
                "exporters cannot write these. Write them out in forward(), in "
                "plain operations, or leave the penalty out")
        given = [one for one in tree_leaves((args, kwargs))
                 if isinstance(one, torch.Tensor)]
        trained = any(one.requires_grad for one in given)
        # An autograd.Function gives a function of gradients to what it returns.
        cut = any(one in self._cut and one.grad_fn is None for one in given)
        result = func(*args, **(kwargs or {}))
        made = [one for one in tree_leaves(result)
                if isinstance(one, torch.Tensor) and one.is_floating_point()]
        self.numbers |= func in _NUMBERS and (trained or cut)
        if func == torch.Tensor.data.__get__ and trained:
            self._data[result] = True
        elif given and given[0] in self._data:
            self.data |= func.__name__.endswith("_")
        if torch.is_grad_enabled():
            self.no_grad |= cut and bool(made)
        elif trained or cut:
            for one in made:
                self._cut[one] = True
        return result


def _nodes_of(loss: torch.Tensor) -> set:
    """Returns all of autograd's nodes that a loss depends on."""
    left, nodes = [loss.grad_fn], set()
    while left:
        node = left.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            left += [one for one, _ in node.next_functions]
    return nodes


def _others(nodes: set, module: torch.nn.Module) -> list[torch.Tensor]:
    """Returns what is trained and is no parameter of the module."""
    own = {id(one) for one in module.parameters()}
    found = [node.variable for node in nodes if hasattr(node, "variable")]
    return [one for one in found if id(one) not in own]


def _refuse_others(others: list[torch.Tensor], loss: Callable | None) -> None:
    names = ({id(one): f"'{name}' of loss=" for name, one in
              loss.named_parameters()} if isinstance(loss, torch.nn.Module)
             else {})
    texts = [f"{names.get(id(one), 'a tensor')} of shape {list(one.shape)}"
             for one in others]
    raise Error(
        "the loss depends on what has requires_grad=True and is no parameter of "
        f"the module: {', '.join(sorted(texts))}. It would not be trained. Make "
        "it a parameter of the module, which may be one that holds both and "
        "returns the loss; if it is not to be trained, call "
        "requires_grad_(False)")


@dataclass
class Seen:
    """What `look` has seen."""

    #: Sentences: what the file does not do.
    differs: list[str]
    #: Sentences: why gradients may be others than the file's.
    may_differ: list[str]
    #: The loss, as one that takes parameters which it keeps from the module.
    loss: Callable | None


def _states(module: torch.nn.Module) -> dict[str, tuple]:
    """Returns what is another where a parameter was changed in place."""
    return {name: (one.data_ptr(), one._version)
            for name, one in module.named_parameters()}


def _changes(before: dict, after: dict, watch: _Watch) -> list[str]:
    """Says which parameters are others than they were."""
    moved = [name for name in before if before[name][0] != after[name][0]]
    if moved:  # torch.export may end the process
        raise Error(f"forward() assigns .data of {', '.join(moved)}, which "
                    "exporters cannot write: compute with a copy instead")
    changed = ", ".join(name for name in before if before[name] != after[name])
    if not changed and not watch.data:
        return []
    return [f"forward() changes {changed or '.data of parameters'} in place, "
            "which is not in the file: steps would change them by the optimizer "
            "alone. Compute with a changed copy instead"]


def _causes(nodes: set, watch: _Watch) -> list[str]:
    """Says why gradients may be others than those of what is computed."""
    functions = {type(node).__name__.removesuffix("Backward") for node in nodes
                 if isinstance(node, torch.autograd.function.BackwardCFunction)}
    functions.discard("CheckpointFunction")  # it computes the same again
    causes = []
    if functions:
        causes.append(
            f"the file has what {', '.join(sorted(functions))} of "
            "torch.autograd.Function computes, and not its backward(): "
            "gradients are those of its forward()")
    if watch.no_grad:
        causes.append(
            "forward() computes with what is trained under torch.no_grad(), of "
            "which the file knows nothing: if the loss depends on it, gradients "
            "go through. zg.export compares them with PyTorch's; .detach() is "
            "in the file")
    if watch.numbers:
        causes.append(
            "forward() makes numbers of Python or numpy of what is trained, by "
            ".item(), float(), .tolist() or .numpy(): if the loss depends on "
            "them, gradients go through, and PyTorch has none. zg.export "
            "compares them with PyTorch's; .detach() is in the file")
    return causes


def look(module: torch.nn.Module, batch: Batch, loss: Callable | None) -> Seen:
    """Computes a loss, and looks for what PyTorch does otherwise than forward()
    says, which alone is in a file."""
    if any(torch.nn.parameter.is_lazy(one) for one in module.parameters()):
        loss_of(module, batch, loss)  # which makes them
    kept = Renewed(module, module)
    renewed = kept.around(loss)

    def nodes_of() -> set:
        # A module may have its inputs require gradients.
        arrays = {name: one.detach() for name, one in batch.items()}
        return _nodes_of(loss_of(module, arrays, renewed))

    before = _states(module)
    with torch.enable_grad(), _Watch() as watch:
        nodes = nodes_of()
        others = _others(nodes, module)
        if others:  # what forward() has made is another each time
            again = _others(nodes_of(), module)
            others = [one for one in others if any(one is two for two in again)]
    if others:
        _refuse_others(others, loss)
    # Places of nodes in the loss are lost by renewing.
    return Seen(_changes(before, _states(module), watch), _causes(nodes, watch),
                renewed if kept.found else loss)
