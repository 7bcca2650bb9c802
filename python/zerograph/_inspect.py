"""Running a loss once, to see what PyTorch does that a file of it would lack."""

from __future__ import annotations

import numbers
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from ._gradients import Function, functions_of
from ._library import Error
from ._run import Run, quiet, run, training, varies
from ._wrapper import Batch, ParameterRedirect, loss_of

_NUMBERS = {torch.Tensor.item, torch.Tensor.__float__, torch.Tensor.tolist,
            torch.Tensor.numpy}
_DETACHES = {torch.Tensor.detach, torch.detach}
_GRADIENTS = {torch.autograd.grad, torch.autograd.backward,
              torch.Tensor.backward}


class _Watch(torch.overrides.TorchFunctionMode):
    """Watches for what is computed of what is trained and gives no gradients."""

    def __init__(self):
        super().__init__()
        self.numbers = False  # Python's, or arrays of numpy
        self.stops = False  # something is computed of what is cut off
        self._cut = WeakTensorKeyDictionary()  # detached, or made under no_grad()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _GRADIENTS:
            raise Error(
                "the module or its loss takes gradients itself, by backward(), "
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
        if torch.is_grad_enabled():
            self.stops |= cut and bool(made)
        if (func in _DETACHES if torch.is_grad_enabled() else trained or cut):
            for one in made:
                self._cut[one] = True
        return result


class _Writes(TorchDispatchMode):
    """Copies a parameter before an operator writes into it, or into a view of
    it."""

    supports_higher_order_operators = True

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.before: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._owners = defaultdict(list)  # parameters by their storage
        for name, one in module.named_parameters():
            self._owners[one.untyped_storage()._cdata].append((name, one))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if schema is not None and schema.is_mutable:
            given = {**dict(zip((one.name for one in schema.arguments), args)),
                     **kwargs}
            for one in schema.arguments:
                if one.is_write:
                    self._keep(tree_leaves(given.get(one.name)))
        return func(*args, **kwargs)

    def _keep(self, written: list) -> None:
        for one in written:
            if isinstance(one, torch.Tensor) and one.layout is torch.strided:
                for name, owner in self._owners.pop(
                        one.untyped_storage()._cdata, []):
                    self.before[name] = owner, owner.detach().clone()


def _nodes_of(loss: torch.Tensor) -> set:
    """Returns all of autograd's nodes that a loss depends on."""
    left, nodes = [loss.grad_fn], set()
    while left:
        node = left.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            left += [one for one, _ in node.next_functions]
    return nodes


def _parameters(nodes: set, module: torch.nn.Module
                ) -> tuple[set[str], list[torch.Tensor]]:
    """Returns the parameters that are trained, and what is trained and is no
    parameter of the module."""
    own = {id(one): name for name, one in module.named_parameters()}
    found = [node.variable for node in nodes if hasattr(node, "variable")]
    return ({own[id(one)] for one in found if id(one) in own},
            [one for one in found if id(one) not in own])


def _refuse_foreign(foreign: list[torch.Tensor], loss: Callable | None) -> None:
    names = ({id(one): f"'{name}' of loss=" for name, one in
              loss.named_parameters()} if isinstance(loss, torch.nn.Module)
             else {})
    texts = [f"{names.get(id(one), 'a tensor')} of shape {list(one.shape)}"
             for one in foreign]
    raise Error(
        "the loss depends on what has requires_grad=True and is no parameter of "
        f"the module: {', '.join(sorted(texts))}. It would not be trained. Make "
        "it a parameter of the module, which may be one that holds both and "
        "returns the loss; if it is not to be trained, call "
        "requires_grad_(False)")


@dataclass
class Inspection:
    """Has what `inspect_loss` has found."""

    #: Sentences that say what the file does not do.
    differs: list[str]
    #: Sentences that say why gradients may be others than the file's.
    may_differ: list[str]
    #: The Functions that the loss depends on, as `functions_of` returns them.
    functions: Mapping[Function, bool]
    #: The same, if PyTorch's gradients are not written out.
    would_differ: list[str]
    #: Sentences that say what else is to be known of the loss.
    advice: list[str]
    #: The loss, as one that takes parameters which it keeps from the module.
    loss: Callable | None
    #: Maps what forward() changes in place to the parameter and its value.
    before: dict[str, tuple[torch.Tensor, torch.Tensor]]
    #: Names the parameters that the loss depends on and that are trained.
    used: set[str]
    #: The loss doubles with all samples there twice.
    is_sum: bool
    #: Computes the loss of a batch once more.
    compute: Callable[[Batch], Run]


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    return {f"{path}.{name}".strip("."): value
            for path, part in module.named_modules()
            for name, value in vars(part).items()}


def _is_same(one, other) -> bool:
    return one is other or (isinstance(one, numbers.Number) and
                            isinstance(other, numbers.Number) and one == other)


def _places(module: torch.nn.Module) -> dict[str, int]:
    return {name: one.data_ptr() for name, one in module.named_parameters()}


def _causes(functions: Mapping[Function, bool], watch: _Watch) -> list[str]:
    """Says why gradients may be others than those of what is computed."""
    causes = _of_functions(
        (one for one, written in functions.items() if not written),
        "its backward(), which does more than multiply each element of the "
        "gradient")
    if watch.numbers:
        causes.append(
            "forward() makes numbers of Python or numpy of what is trained, by "
            ".item(), float(), .tolist() or .numpy(): if the loss depends on "
            "them, gradients go through, and PyTorch has none. zg.export "
            "compares them with PyTorch's; .detach() is in the file")
    return causes


def _causes_unwritten(functions: Mapping[Function, bool],
                      watch: _Watch) -> list[str]:
    """Says what else is lost where PyTorch's gradients are not written out."""
    causes = _of_functions(
        (one for one, written in functions.items() if written), "its backward()")
    if watch.stops:
        causes.append(
            "forward() computes with what torch.no_grad() or detach() gives no "
            "gradient, and the exporter that can write this module writes "
            "neither: if the loss depends on it, gradients go through")
    return causes


def _of_functions(lost: Iterable[Function], what: str) -> list[str]:
    # A checkpoint computes the same again.
    names = sorted({one.__name__ for one in lost} - {"CheckpointFunction"})
    return [f"the file has what {', '.join(names)} of torch.autograd.Function "
            f"computes, and not {what}: gradients are those of its forward()"
            ] if names else []


def _is_sum(first: Run, again: Callable[[], Run]) -> bool:
    """Tells whether the loss doubles with all samples there twice."""
    once = float(first.loss)
    try:
        with torch.no_grad(), quiet():
            both = float(again().loss)
    except Exception:  # it takes so many samples alone
        return False
    return once != 0 and abs(both - 2 * once) < 1e-3 * abs(once)


def _initialize(module: torch.nn.Module, batch: Batch,
                loss: Callable | None) -> None:
    """Makes the parameters and buffers of lazy modules."""
    if any(torch.nn.parameter.is_lazy(one)
           for one in (*module.parameters(), *module.buffers())):
        modes = {part: part.training for part in module.modules()}
        try:
            with torch.no_grad():
                loss_of(module.eval(), batch, loss)  # which moves no statistics
        finally:
            for part, mode in modes.items():
                part.training = mode


def inspect_loss(module: torch.nn.Module, batch: Batch, twice: Batch,
                 loss: Callable | None) -> Inspection:
    """Computes a loss, and looks for what PyTorch does otherwise than forward()
    says, which alone is in a file. `twice` has the samples twice. Of the module
    nothing stays changed but what a lazy one makes."""
    _initialize(module, batch, loss)
    redirect = ParameterRedirect(module, module)
    redirected = redirect.around(loss)
    writes, watch = _Writes(module), _Watch()

    def compute(batch=batch) -> Run:
        # A module may have its inputs require gradients.
        arrays = {name: one.detach() for name, one in batch.items()}
        with torch.random.fork_rng([]):
            return run(module, arrays, redirected)

    places = _places(module)
    with training(module, writes.before):
        before = _attributes(module)
        with torch.enable_grad(), writes, watch:
            first = compute()
        moved = [name for name, place in _places(module).items()
                 if places.get(name, place) != place]
        if moved:  # torch.export may end the process
            raise Error(f"forward() assigns .data of {', '.join(moved)}, which "
                        "exporters cannot write: compute with a copy instead")
        nodes = _nodes_of(first.loss)
        used, foreign = _parameters(nodes, module)
        if foreign:  # what forward() has made is another each time
            with torch.enable_grad(), quiet():
                _, again = _parameters(_nodes_of(compute().loss), module)
            foreign = [one for one in foreign if any(one is two for two in again)]
        if foreign:
            _refuse_foreign(foreign, loss)
        functions = functions_of(nodes)
        causes = _causes(functions, watch)
        del nodes
        first.loss = first.loss.detach()
        was_set = [name for name, value in _attributes(module).items()
                   if not _is_same(before.get(name), value)]
        is_read = (was_set and not writes.before and
                   varies(first, compute, times=1))
    differs, advice = [], []
    if writes.before:
        differs.append(
            f"forward() changes {', '.join(writes.before)} in place, which is not "
            "in the file: steps would change them by the optimizer alone. "
            "Compute with a changed copy instead")
    if is_read:
        differs.append(
            f"the loss changes with each call of forward(), which sets "
            f"{', '.join(was_set)}: the file has the value of one call. Make it "
            "an input")

    def once_more(batch=batch) -> Run:
        with training(module, writes.before):
            return compute(batch)

    is_sum = _is_sum(first, lambda: once_more(twice))
    if is_sum:
        advice.append(
            "the loss is a sum over samples: twice as many have twice the loss. "
            "The loss of a step is the mean of its micro-batches', over all "
            "ranks, so it and the gradients would be divided by their number: "
            "take a mean")
    if first.drew_others and varies(first, once_more):
        advice.append(
            "the loss depends on random numbers that are not PyTorch's, but "
            "numpy's or Python's: the file has those of one call, and every step "
            "would take the same. Turn off what draws them; of speech models of "
            "transformers, config.apply_spec_augment")
    # Places of nodes in the loss are lost by redirecting.
    return Inspection(differs, causes, functions,
                      _causes_unwritten(functions, watch), advice,
                      redirected if redirect.found else loss, writes.before,
                      used, is_sum, once_more)
