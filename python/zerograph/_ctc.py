"""The loss of connectionist temporal classification, in operations that exporters
write."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ._gradients import with_gradient
from ._library import Error, InvalidArgument

#: Stands for the logarithm of 0: sums of it are finite, and so gradients are.
_NEVER = -1e30


def _lengths(lengths, samples, like: torch.Tensor) -> torch.Tensor:
    """Returns lengths by sample. Numbers of Python would be those of the example,
    whose samples are others than those to come."""
    if isinstance(lengths, torch.Tensor):
        return lengths.reshape(-1).to(like.device, torch.int64)
    if len(set(lengths)) != 1:
        raise InvalidArgument(
            "ctc_loss with lengths that are numbers of Python and not all the "
            "same: a file would have those of the example. Make them an input, a "
            "tensor of a number per sample")
    return torch.full((samples,), int(lengths[0]), dtype=torch.int64,
                      device=like.device)


def _check_frames(frames) -> None:
    if isinstance(frames, torch.SymInt):
        raise Error("ctc_loss of a number of frames that may vary: zg.export "
                    "writes it out for a fixed number. Pad the samples to one "
                    "length, and give their own as input_lengths")


def _labels(targets: torch.Tensor, blank: int) -> torch.Tensor:
    """Returns the labels with a blank before, between and after."""
    between = torch.stack([torch.full_like(targets, blank), targets], -1)
    return torch.cat([between.flatten(1), torch.full_like(targets[:, :1], blank)],
                     1)


def _ahead(values: torch.Tensor, by: int) -> torch.Tensor:
    """Returns what was so many labels before."""
    return torch.nn.functional.pad(values, (by, -by), value=_NEVER)


def _at(values: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    return values.gather(1, place.clamp(min=0).unsqueeze(1)).squeeze(1)


def _log_likelihood(emitted: torch.Tensor, skips: torch.Tensor,
                    input_lengths: torch.Tensor,
                    target_lengths: torch.Tensor) -> torch.Tensor:
    """Returns the logarithm of the sum over all paths. `emitted` has logarithms by
    frame, sample and label; `skips` is 0 where a path may skip the label before,
    else never."""
    first = torch.arange(skips.shape[1], device=skips.device) < 2
    reached = [torch.where(first, emitted[0], _NEVER)]
    for frame in range(1, emitted.shape[0]):
        last = reached[-1]
        paths = torch.stack([last, _ahead(last, 1), _ahead(last, 2) + skips])
        reached.append(paths.logsumexp(0) + emitted[frame])
    frames = torch.stack(reached, 1)  # (samples, frames, labels)
    place = (input_lengths - 1).clamp(min=0)[:, None, None]
    last = frames.gather(1, place.expand(-1, 1, skips.shape[1])).squeeze(1)
    end = 2 * target_lengths
    label = torch.where(target_lengths > 0, _at(last, end - 1), _NEVER)
    return torch.stack([_at(last, end), label]).logsumexp(0)


def _as_pytorch(log_probs: torch.Tensor,
                input_lengths: torch.Tensor) -> torch.Tensor:
    """Returns 0 by sample, with what PyTorch adds to the derivatives, which sum
    up to 0 so: a log_softmax before has the same gradients with it or without."""
    frames = torch.arange(log_probs.shape[0], device=log_probs.device)
    within = frames[:, None] < input_lengths
    return with_gradient(torch.zeros_like(log_probs), log_probs,
                         log_probs.exp() * within.unsqueeze(-1)).sum((0, 2))


def _ctc_loss(log_probs: torch.Tensor, targets: torch.Tensor, input_lengths,
              target_lengths, blank: int = 0, reduction: str = "mean",
              zero_infinity: bool = False) -> torch.Tensor:
    """Is torch.nn.functional.ctc_loss."""
    chosen = targets if isinstance(targets, Chosen) else None
    if chosen is not None:
        targets = chosen.rows()
    batched = log_probs.ndim == 3
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    if targets.ndim != 2:
        raise InvalidArgument(
            "ctc_loss with the targets of all samples in one row: a file cannot "
            "say where those of a sample begin. Give a matrix of a row per "
            "sample, padded with any label, and target_lengths")
    frames, samples, classes = log_probs.shape
    _check_frames(frames)
    input_lengths = _lengths(input_lengths, samples, targets)
    target_lengths = _lengths(target_lengths, samples, targets)
    labels = _labels(targets.to(torch.int64).clamp(0, classes - 1), blank)
    same = (labels[:, 2:] == labels[:, :-2]) | (labels[:, 2:] == blank)
    skips = torch.nn.functional.pad(
        torch.where(same, _NEVER, 0.0).to(log_probs.dtype), (2, 0), value=_NEVER)
    emitted = log_probs.gather(2, labels.expand(int(frames), -1, -1))
    found = _log_likelihood(emitted.clamp(min=_NEVER), skips, input_lengths,
                            target_lengths)
    loss = torch.where(found > _NEVER / 2,
                       _as_pytorch(log_probs, input_lengths) - found,
                       0.0 if zero_infinity else math.inf)
    if chosen is not None:  # PyTorch would take a sample's for the next one's
        loss = torch.where(chosen.mask.sum(1) == target_lengths, loss, math.nan)
    if reduction == "mean":
        loss = (loss / target_lengths.clamp(min=1)).mean()
    elif reduction == "sum":
        loss = loss.sum()
    return loss if batched or loss.ndim == 0 else loss.squeeze(0)


class Chosen:
    """Stands for the elements of a matrix of whole numbers that a mask chooses,
    row by row: how many there are, no file can say. `ctc_loss` takes it as the
    targets of all samples."""

    def __init__(self, values: torch.Tensor, mask: torch.Tensor):
        self.values, self.mask = values, mask

    def rows(self) -> torch.Tensor:
        """Returns a matrix whose rows begin with what they have."""
        place = self.mask.to(torch.int64).cumsum(1) - 1
        wanted = torch.arange(self.values.shape[1], device=place.device)
        found = (place[:, None, :] == wanted[:, None]) & self.mask[:, None, :]
        return torch.where(found, self.values[:, None, :], 0).sum(-1)

    def __getattr__(self, name):
        raise refusal()

    def _refuse(self, *_):
        raise refusal()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __getitem__ = __len__ = __iter__ = __bool__ = __neg__ = __invert__ = _refuse


class MaskError(Error):
    """Says that a mask decides how many labels there are."""


def refusal() -> MaskError:
    return MaskError(
        "labels that a mask chooses, labels[mask] or masked_select, are as many "
        "as its values say, which a file cannot: they can be the targets of "
        "ctc_loss alone. Have labels left out by ignore_index")


def selected(function):
    """Returns torch.masked_select, or x[mask], which leaves labels that a mask
    chooses to `ctc_loss`."""
    def called(input, mask, *rest, **named):
        if (isinstance(mask, torch.Tensor) and mask.dtype == torch.bool and
                isinstance(input, torch.Tensor) and input.dtype == torch.int64 and
                input.ndim == 2 and mask.ndim == 2 and not rest and not named):
            return Chosen(input, mask)
        return function(input, mask, *rest, **named)
    return called


WRITTEN: dict[Callable, Callable] = {
    torch.nn.functional.ctc_loss: _ctc_loss,
    torch.masked_select: selected(torch.masked_select),
    torch.Tensor.masked_select: selected(torch.Tensor.masked_select),
}
