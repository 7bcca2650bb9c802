"""Watching what a loss computes, for what a file of it would lack."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from ._gradients import written_by
from ._library import Error

_NUMBERS = {torch.Tensor.item, torch.Tensor.__float__, torch.Tensor.tolist,
            torch.Tensor.numpy}
_DETACHES = {torch.Tensor.detach, torch.detach}
#: A file cannot say that a tensor changes so.
_CHANGES = {torch.Tensor.detach_: "detach_()",
            torch.Tensor.requires_grad_: "requires_grad_()",
            torch.Tensor.requires_grad.__set__: "requires_grad=",
            torch.Tensor.register_hook: "register_hook()"}
_GRADIENTS = {torch.autograd.grad, torch._VF._make_dual}
#: Change .grad.
BACKWARD = {torch.autograd.backward, torch.Tensor.backward}


class Watch(torch.overrides.TorchFunctionMode):
    """Watches for what is computed of what is trained and gives no gradients."""

    def __init__(self):
        super().__init__()
        self.numbers = False  # Python's, or arrays of numpy
        self.no_grad = False  # something is computed of what it cuts off
        self.detached = False  # or of what detach() does
        self.changes: set[str] = set()  # how gradients change within forward()
        self.gradients = False  # the loss takes some itself
        self.written = False  # what is trained changes in place under no_grad()
        #: Maps what is cut off to whether detach() did so.
        self._cut = WeakTensorKeyDictionary()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in BACKWARD:
            raise Error(
                "the module or its loss calls backward(), which changes .grad: "
                "exporters cannot write that. Take gradients by "
                "torch.autograd.grad(..., create_graph=True), or by torch.func")
        self.gradients |= func in _GRADIENTS
        given = [one for one in tree_leaves((args, kwargs))
                 if isinstance(one, torch.Tensor)]
        trained = any(one.requires_grad for one in given)
        # An autograd.Function gives a function of gradients to what it returns.
        cut = [self._cut[one] for one in given
               if one in self._cut and one.grad_fn is None]
        if func in _CHANGES and trained:
            self.changes.add(_CHANGES[func])
        enabled = torch.is_grad_enabled()
        written = written_by(func, args)
        if not enabled and written is not None:
            self.written |= written.grad_fn is not None
            if written.grad_fn is None and written._base is not None and (
                    written._base.grad_fn is not None):
                self.changes.add("operators in place, of a part taken under "
                                 "torch.no_grad(),")
        result = func(*args, **(kwargs or {}))
        made = [one for one in tree_leaves(result)
                if isinstance(one, torch.Tensor) and one.is_floating_point()]
        self.numbers |= func in _NUMBERS and (trained or bool(cut))
        if enabled and made:
            self.detached |= True in cut
            self.no_grad |= False in cut
        detaches = func in _DETACHES
        if (trained or cut) and (detaches or not enabled):
            for one in made:
                self._cut[one] = detaches and False not in cut
        return result


class Writes(TorchDispatchMode):
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
