"""Batches of several lengths, each of which has a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch

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


def examples(batch: Mapping, main: str,
             lengths: Iterable[int] | None) -> list[dict]:
    """Returns a batch of each length, the longest first; or the batch, as it
    is."""
    if lengths is None:
        return [dict(batch)]
    wanted = ([] if isinstance(lengths, (int, str)) else
              sorted(set(lengths), reverse=True))
    if not wanted or not all(isinstance(one, int) and one > 0 for one in wanted):
        raise InvalidArgument(f"lengths={lengths!r}: expected numbers of tokens, "
                              "as [64, 128, 256]")
    if main not in batch or batch[main].ndim != 2:
        raise InvalidArgument(
            f"lengths= is for models of sequences, whose '{main}' is [samples, "
            "length]: found " + (str(list(batch[main].shape)) if main in batch
                                 else "none in the batch"))
    return [_of_length(batch, main, length) for length in wanted]


def first_samples(batch: Mapping, count: int) -> dict:
    """Returns a batch of fewer samples."""
    return {name: one[:count] if isinstance(one, torch.Tensor) and one.ndim else
            one for name, one in batch.items()}


class Shapes:
    """The shapes that batches can have: those of the plans' examples."""

    def __init__(self, made: list[dict], lengths: Iterable[int] | None):
        self._known = [_shapes_of(one) for one in made]
        self._advice = (
            "have the collator pad to one of lengths=, or add this one" if lengths
            else "have the tokenizer or the collator pad, as "
            "padding=\"max_length\", max_length=128; or give lengths=[64, 128] for "
            "batches that are padded to one of these, as texts of up to 128 by "
            "pad_to_multiple_of=64")

    def check(self, batch: Mapping) -> Mapping:
        """Returns a batch; refuses one that the collator has padded to a length
        of its own."""
        found = _shapes_of(batch)
        closest = self._known[0]
        for known in self._known:
            if all(known.get(name, one) == one for name, one in found.items()):
                return batch
        for name, one in found.items():
            expected = [list(known[name]) for known in self._known
                        if name in known]
            if name in closest and list(one) not in expected:
                raise InvalidArgument(
                    f"'{name}' of a batch has samples of shape {list(one)}, and "
                    f"{_plans(expected)}: {self._advice}")
        raise InvalidArgument(
            "the shapes of a batch are each that of a plan, but not together: "
            + ", ".join(f"{name} {list(one)}" for name, one in found.items()))


def _plans(shapes: list[list[int]]) -> str:
    """Says which shapes there are plans for."""
    if len(shapes) == 1:
        return f"the first had {shapes[0]}: all batches of a plan have one shape"
    return "there are plans for " + ", ".join(str(one) for one in shapes)
