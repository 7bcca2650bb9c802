"""Running a module's loss so that nothing stays changed, and saying what random
numbers the run drew."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import pickle
import random
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from unittest import mock

import numpy as np
import torch

from ._wrapper import Batch, loss_of

#: This many more runs tell whether a loss depends on random numbers.
_TRIES = 4


def _cuda_generators() -> list[int]:
    return (list(range(torch.cuda.device_count()))
            if torch.cuda.is_initialized() else [])


@contextlib.contextmanager
def generators_kept():
    """Puts back the random generators of PyTorch, numpy and Python."""
    states = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(_cuda_generators()):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


@contextlib.contextmanager
def quiet():
    """Keeps back what exporters and further runs say. Yields that text."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        said = io.StringIO()
        with (warnings.catch_warnings(), contextlib.redirect_stdout(said),
              contextlib.redirect_stderr(said)):
            warnings.simplefilter("ignore")
            yield said
    finally:
        logging.disable(disabled)


#: Containers that can be filled again: a class of somebody's may refuse it.
_CONTAINERS = {dict, OrderedDict, defaultdict, list, set, deque}


def containers_of(module: torch.nn.Module) -> list[tuple]:
    """Returns the containers of a module's attributes, and those within them,
    with copies of what they have."""
    found: dict[int, tuple] = {}
    rest = [vars(part) for part in module.modules()]
    while rest:
        one = rest.pop()
        if type(one) in _CONTAINERS and id(one) not in found:
            found[id(one)] = one, copy.copy(one)
            rest += one.values() if isinstance(one, dict) else one
    return list(found.values())


def _parts(container) -> list:
    return [part for pair in container.items() for part in pair] if isinstance(
        container, dict) else list(container)


def _put_back(container, was) -> None:
    now, then = _parts(container), _parts(was)
    if len(now) != len(then) or any(a is not b for a, b in zip(now, then)):
        container.clear()
        (container.extend if isinstance(container, (list, deque)) else
         container.update)(was)


@contextlib.contextmanager
def kept(module: torch.nn.Module | object, before: Mapping[str, tuple] = {}):
    """Puts back what runs of a module change: modes and other attributes, also
    what lists and dictionaries have, gradients, buffers, the data that parameters
    have, and the values of the parameters that `before` has at the end. Does
    nothing to what is no module."""
    if not isinstance(module, torch.nn.Module):
        yield
        return
    containers = containers_of(module)
    tensors = [(one, one.data, one.grad) for one in module.parameters()]
    buffers = [(one, one.detach().clone()) for one in module.buffers()]
    modes = {part: part.training for part in module.modules()}
    try:
        yield
    finally:
        made = len(list(module.parameters())) != len(tensors)
        # A first run may make parameters: they stay, and so do its marks.
        for container, was in () if made else containers:
            _put_back(container, was)
        for part, mode in modes.items():
            part.training = mode
        with torch.no_grad():
            for one, data, gradient in tensors:
                one.grad = gradient
                if one.data_ptr() != data.data_ptr():
                    one.data = data
            for one, value in (*buffers, *before.values()):
                one.copy_(value)


@contextlib.contextmanager
def training(module: torch.nn.Module, loss: Callable | None,
             before: Mapping[str, tuple] = {}):
    """Sets a module to training, but for parts that it has in evaluation itself,
    and keeps it and a loss that is a module as they are."""
    with kept(module, before), kept(loss):
        if not module.training:
            module.train()
        for part in list(module.modules()):
            if type(part).train is not torch.nn.Module.train:
                part.train(part.training)  # which keeps parts as it wants them
        yield


@contextlib.contextmanager
def _without_dropout():
    """Turns dropout off, where `dropout=0` turns off that of a file, and yields
    a list that has an entry for each that would have been made."""
    functional = torch.nn.functional
    attention = functional.scaled_dot_product_attention
    made: list[str] = []

    def dropout(input, p=0.5, training=True, inplace=False):
        made.extend(["dropout"] if training and p > 0 else [])
        return input

    def attend(query, key, value, attn_mask=None, dropout_p=0.0, *rest, **named):
        made.extend(["attention"] if dropout_p > 0 else [])
        return attention(query, key, value, attn_mask, 0.0, *rest, **named)

    with mock.patch.multiple(functional, dropout=dropout,
                             scaled_dot_product_attention=attend):
        yield made


def _states_of_pytorch() -> list[torch.Tensor]:
    return [torch.get_rng_state(),
            *(torch.cuda.get_rng_state(one) for one in _cuda_generators())]


def _states_of_others() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))


@dataclass
class Run:
    """How a loss was computed, without dropout()."""

    loss: torch.Tensor
    #: Has an entry for each dropout that was left out.
    dropouts: list[str]
    #: PyTorch's random numbers were drawn, or numpy's or Python's.
    drew: bool
    drew_others: bool


def run(module: torch.nn.Module, batch: Batch, loss: Callable | None) -> Run:
    """Computes a loss with dropout() off."""
    pytorch, others = _states_of_pytorch(), _states_of_others()
    with _without_dropout() as dropouts:
        value = loss_of(module, batch, loss)
    drew = not all(map(torch.equal, pytorch, _states_of_pytorch()))
    return Run(value, dropouts, drew, others != _states_of_others())


def varies(first: Run, again: Callable[[], Run], times: int = _TRIES) -> bool:
    """Tells whether more runs of a loss compute another. All may be NaN."""
    with torch.no_grad(), quiet():
        return any(repr(float(again().loss)) != repr(float(first.loss))
                   for _ in range(times))
