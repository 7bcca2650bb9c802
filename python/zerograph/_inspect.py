"""Running a loss once, to see what PyTorch does that a file of it would lack."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ._counters import Counters
from ._gradients import Function, checkpoints_called, functions_of
from ._library import Error
from ._run import Run, quiet, run, training, varies
from ._watch import Watch, Writes
from ._wrapper import Batch, ParameterRedirect, loss_of


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
    #: More of them, if PyTorch's gradients are not written out, because the
    #: newer exporter cannot follow that, or because the older one writes the
    #: file.
    would_differ: list[str]
    would_differ_older: list[str]
    #: The Functions that the loss depends on, as `functions_of` returns them.
    functions: Mapping[Function, bool]
    #: Sentences that say what else is to be known of the loss.
    advice: list[str]
    #: The loss, as one that takes parameters which it keeps from the module.
    loss: Callable | None
    #: Maps what forward() changes in place to the parameter and its value.
    before: dict[str, tuple[torch.Tensor, torch.Tensor]]
    #: Names the parameters that the loss depends on and that are trained.
    used: set[str]
    #: The loss takes gradients itself.
    takes_gradients: bool
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


def _causes(functions: Mapping[Function, bool], watch: Watch) -> list[str]:
    """Says why gradients may be others than the file's."""
    causes = _of_functions(
        (one for one, written in functions.items() if not written),
        "its backward(), which does more than multiply each element of the "
        "gradient by a number that does not depend on it")
    if watch.numbers:
        causes.append(
            "forward() makes numbers of Python or numpy of what is trained, by "
            ".item(), float(), .tolist() or .numpy(): if the loss depends on "
            "them, gradients go through, and PyTorch has none. zg.export "
            "compares them with PyTorch's; .detach() is in the file")
    if watch.changes:
        causes.append(
            f"forward() calls {', '.join(sorted(watch.changes))} of what is "
            "trained, and the file has the gradients without. Write y = "
            "x.detach() in place of a tensor that changes")
    return causes


def _causes_unwritten(functions: Mapping[Function, bool], watch: Watch,
                      older: torch.nn.Module | None) -> list[str]:
    """Says what else is lost where PyTorch's gradients are not written out. The
    older exporter writes the module `older`, if that is given."""
    causes = _of_functions(
        (one for one, written in functions.items() if written), "its backward()")
    stops = ["torch.no_grad()"] if watch.no_grad else []
    padded = []
    if older is not None:
        stops += ["detach()"] if watch.detached else []
        padded = [name for name, one in older.named_modules()
                  if getattr(one, "padding_idx", None) is not None]
    if stops:
        causes.append(
            f"forward() computes with what {' and '.join(stops)} gives no "
            "gradient, and the exporter that can write this module does not "
            "write that: if the loss depends on it, gradients go through")
    if padded:
        causes.append(
            f"padding_idx of {', '.join(padded[:8])} is not written by the "
            "exporter that can write this module: the row is trained, unless no "
            "label or input asks for it")
    if watch.written:
        causes.append(
            "forward() changes what is trained in place under torch.no_grad(), "
            "and the exporter that can write this module does not write that: "
            "gradients are those of the change, and PyTorch has those without")
    return causes


def _of_functions(lost: Iterable[Function], what: str) -> list[str]:
    names = ", ".join(sorted({one.__name__ for one in lost}))
    return [f"the file has what {names} of torch.autograd.Function computes, and "
            f"not {what}: gradients are those of its forward(), which is right "
            "if its backward() is the derivative. Of a step or a rounding they "
            "are 0; write y = z + (f(x) - z).detach(), with z the function whose "
            "gradient is meant"] if names else []


def _depends_on_calls(compute: Callable[[], Run]) -> bool:
    """Tells whether the next call has the loss of this one. The first call, which
    is watched, may have been rounded otherwise."""
    with torch.no_grad(), quiet():
        now = compute()
    return varies(now, compute, times=1)


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
    writes, watch = Writes(module), Watch()

    def compute(batch=batch) -> Run:
        # A module may have its inputs require gradients.
        arrays = {name: one.detach() for name, one in batch.items()}
        with torch.random.fork_rng([]), torch.set_grad_enabled(
                torch.is_grad_enabled() or watch.gradients):
            return run(module, arrays, redirected)

    places = _places(module)
    with training(module, loss, writes.before), checkpoints_called():
        before, counters = _attributes(module), Counters(module)
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
        is_read = was_set and not writes.before and _depends_on_calls(compute)
        counted = ([] if is_read or writes.before or first.drew_others else
                   counters.read(compute))
    differs, advice = [], []
    hooked = [name for name, one in module.named_parameters()
              if one._backward_hooks or one._post_accumulate_grad_hooks]
    if hooked:  # a copy that gradients are compared with has none
        differs.append(
            f"hooks change the gradients of {', '.join(hooked[:8])}, and are not "
            "in the file. Remove them, or write what they do in forward()")
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
    if counted:
        differs.append(
            "the loss becomes another when forward() has counted "
            f"{', '.join(counted)} far enough: the file has that of the first call. "
            "Make it an input")

    def once_more(batch=batch) -> Run:
        with training(module, loss, writes.before):
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
    return Inspection(differs, causes,
                      _causes_unwritten(functions, watch, older=None),
                      _causes_unwritten(functions, watch, older=module),
                      functions, advice,
                      redirected if redirect.found else loss, writes.before,
                      used, watch.gradients, is_sum, once_more)
