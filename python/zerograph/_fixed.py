"""Inputs whose values decide shapes, or which way forward() goes: what they decide
is that of the example, and every batch is to decide the same."""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections.abc import Callable, Mapping

import torch

from ._decided import FixedValues
from ._library import InvalidArgument
from ._options import as_list
from ._recorded import Recording
from ._run import quiet
from ._written_out import written_out


def checked_names(fixed, batch: Mapping[str, torch.Tensor]) -> list[str]:
    """Returns the names of fixed=, which are those of inputs."""
    names = as_list(fixed)
    wrong = [one for one in names if one not in batch]
    if wrong:
        raise InvalidArgument(f"fixed={names}: {wrong[0]!r} is no input; the "
                              f"example has {', '.join(batch)}")
    return names


def mark_samples(path: str, batch: Mapping[str, torch.Tensor]) -> None:
    """Writes into a file of fixed sizes which inputs have samples in front: as
    many as most inputs are long, or several rows of each. Of lengths that as many
    inputs have, the least is taken."""
    import onnx
    sizes = [len(one) for one in batch.values() if one.ndim and len(one)]
    samples = max(sizes, key=lambda one: (sizes.count(one), -one), default=1)
    model = onnx.load(path, load_external_data=False)
    for one in model.graph.input:
        own = batch.get(one.name)
        if own is not None and own.ndim and len(own) % samples == 0 < len(own):
            one.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    onnx.save(model, path)


def advice_of(compute: Callable, batch: Mapping[str, torch.Tensor]) -> str:
    """Returns ". Or give fixed=...", if inputs alone decide shapes, or which way
    a loss is computed."""
    mode = FixedValues(batch, batch)
    with quiet(), written_out(), contextlib.suppress(Exception), mode:
        compute(batch)
    names = sorted({name for one in mode.recording.decisions
                    for name in one.inputs})
    few = ", or as few of these as will do" if len(names) > 1 else ""
    return (f". Or, where what {' and '.join(names)} decide"
            f"{'s' * (len(names) == 1)} is the same in every batch, give "
            f"fixed={json.dumps(names)}{few}" if names else "")


class Fixed:
    """Has losses computed so that `names` of a batch decide what they do in the
    example."""

    def __init__(self, names: list[str], example: Mapping[str, torch.Tensor]):
        self._values = {name: example[name] for name in names}
        self.recording = Recording()

    def around(self, compute: Callable) -> Callable:
        """Returns what computes a loss, and perhaps metrics, of a batch. The loss
        is NaN where a batch decides otherwise, and nothing has looked before."""
        if not self._values:
            return compute

        def computed(batch):
            with FixedValues(batch, self._values) as mode:
                result = compute(batch)
            self.recording = mode.recording
            if mode.holds is None:
                return result
            loss, *rest = result if isinstance(result, tuple) else (result,)
            loss = torch.where(mode.holds, loss, math.nan)
            return (loss, *rest) if rest else loss
        return computed

    def say(self) -> list[str]:
        """Notes what the plan keeps of the example. Returns a warning of names
        that decide nothing."""
        recording = self.recording
        places = list(dict.fromkeys(one.where for one in recording.decisions))
        if places:
            logging.getLogger("zerograph").info(
                "what %s decide%s is fixed as in the example, and so is the number "
                "of its samples; a batch that decides otherwise is refused: %s",
                " and ".join(recording.inputs),
                "s" if len(recording.inputs) == 1 else "", ", ".join(places))
        rest = [one for one in self._values if one not in recording.inputs]
        return [f"fixed={json.dumps(rest)} decides nothing: no shape, and not "
                "which way forward() goes"] if rest else []
