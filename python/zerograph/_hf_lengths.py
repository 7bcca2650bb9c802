"""Batches of several lengths, each of which has a plan."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

import torch
import torch.nn.functional as F

from ._library import InvalidArgument


def _shapes_of(batch: Mapping) -> dict[str, torch.Size]:
    """Returns the shapes of samples."""
    return {name: one.shape[1:] for name, one in batch.items()
            if isinstance(one, torch.Tensor)}


def _of_length(batch: Mapping, main: str, length: int) -> dict:
    """Returns a batch of another length, which is cut or filled up with zeros:
    that of all that is as long as the main input."""
    old = batch[main].shape[1]
    made = dict(batch)
    for name, one in batch.items():
        if isinstance(one, torch.Tensor) and one.ndim > 1 and one.shape[1] == old:
            made[name] = one.new_zeros([one.shape[0], length, *one.shape[2:]])
            common = min(old, length)
            made[name][:, :common] = one[:, :common]
    return made


def numbers(lengths: Iterable[int]) -> list[int]:
    """Returns lengths as numbers, the longest first."""
    try:
        found = sorted({operator.index(one) for one in lengths}, reverse=True)
    except TypeError:
        found = []
    if not found or found[-1] < 1:
        raise InvalidArgument(f"lengths={lengths!r}: expected numbers of tokens, "
                              "as [64, 128, 256]")
    return found


def examples(batch: Mapping, main: str,
             lengths: list[int] | None) -> list[dict]:
    """Returns a batch of each length; or the batch, as it is."""
    if lengths is None:
        return [dict(batch)]
    if main not in batch or batch[main].ndim != 2:
        raise InvalidArgument(
            f"lengths= is for models of sequences, whose '{main}' is [samples, "
            "length]: found " + (str(list(batch[main].shape)) if main in batch
                                 else "none in the batch"))
    return [_of_length(batch, main, length) for length in lengths]


def first_samples(batch: Mapping, count: int) -> dict:
    """Returns a batch of fewer samples."""
    return {name: one[:count] if isinstance(one, torch.Tensor) and one.ndim else
            one for name, one in batch.items()}


class Shapes:
    """The shapes that batches can have: those of the plans' examples, which are
    of `lengths`, if these are given. Tokens that are filled in have the number
    `padding`."""

    def __init__(self, made: list[dict], main: str,
                 lengths: list[int] | None, padding: int):
        self._known = [_shapes_of(one) for one in made]
        self._main, self._padding = main, padding
        self._lengths = lengths or []
        self._advice = (
            "add this one to lengths=" if self._lengths else
            "have the tokenizer or the collator pad, as padding=\"max_length\", "
            "max_length=128; or give lengths=[64, 128] for batches that are no "
            "longer")

    def fit(self, batch: Mapping) -> Mapping:
        """Returns a batch, filled up to the next of the lengths; refuses one of
        other shapes than the plans'."""
        batch = self._filled(batch)
        found = _shapes_of(batch)
        for known in self._known:
            if all(known.get(name, one) == one for name, one in found.items()):
                return batch
        for name, one in found.items():
            expected = [list(known[name]) for known in self._known
                        if name in known]
            if expected and list(one) not in expected:
                raise InvalidArgument(
                    f"'{name}' of a batch has samples of shape {list(one)}, and "
                    f"{_plans(expected)}: {self._advice}")
        raise InvalidArgument(
            "the shapes of a batch are each that of a plan, but not together: "
            + ", ".join(f"{name} {list(one)}" for name, one in found.items()))

    def _filled(self, batch: Mapping) -> Mapping:
        """Returns a batch whose sequences are filled up, if a mask tells the
        model which tokens are there."""
        main, mask = batch.get(self._main), batch.get("attention_mask")
        if not self._lengths or main is None or mask is None:
            return batch
        length = main.shape[1]
        more = min((one - length for one in self._lengths if one >= length),
                   default=0)
        labels = [one for name, one in batch.items() if name.endswith("labels")]
        if (not more or mask.shape != main.shape or
                any(one.is_floating_point() for one in labels)):
            return batch
        return {name: F.pad(one, [0, 0] * (one.ndim - 2) + [0, more],
                            value=self._filling(name))
                if isinstance(one, torch.Tensor) and one.ndim > 1 and
                one.shape[1] == length else one for name, one in batch.items()}

    def _filling(self, name: str) -> int:
        """Returns what an input has where there is no token; labels are to be
        left out of the loss."""
        return (self._padding if name == self._main else
                -100 if name.endswith("labels") else 0)


def _plans(shapes: list[list[int]]) -> str:
    """Says which shapes there are plans for."""
    if len(shapes) == 1:
        return f"the first had {shapes[0]}: all batches of a plan have one shape"
    return "there are plans for " + ", ".join(str(one) for one in shapes)
