"""Functions of tensors that exporters write wrongly or not at all, written out."""

from __future__ import annotations

import math

import torch

from ._parts import both, is_nan


def _masked_scatter(input, mask, source):
    """Is torch.masked_scatter: exporters ask where the mask is true, and no file
    can say how often. Each place counts those before it."""
    input, mask = torch.broadcast_tensors(input, mask)
    place = mask.flatten().to(torch.int64).cumsum(0) - 1
    chosen = source.flatten()[place.clamp(min=0)]
    return torch.where(mask, chosen.view_as(input).to(input.dtype), input)


def _reducing(function, in_place=False):
    """Returns torch.scatter_reduce, whose means exporters write as a scatter that
    replaces."""
    def called(input, dim, index, src, reduce, *, include_self=True):
        if reduce != "mean":
            return function(input, dim, index, src, reduce,
                            include_self=include_self)
        total, count = (torch.zeros_like(input).scatter_add(dim, index, one)
                        for one in (src, torch.ones_like(src)))
        rounding = None if input.is_floating_point() else "floor"
        mean = (torch.div(input + total, count + 1, rounding_mode=rounding)
                if include_self else
                torch.where(count > 0, torch.div(
                    total, count.clamp(min=1), rounding_mode=rounding), input))
        return input.copy_(mean) if in_place else mean
    return called


def _distances_of_pairs(input, p=2.0):
    """Is torch.pdist: of a pair of rows the first has those before it, of n - 1,
    n - 2, ... pairs each."""
    rows = input.shape[0]
    pair = torch.arange(rows * (rows - 1) // 2, device=input.device)
    twice = 2 * rows - 1
    first = ((twice - (twice**2 - 8 * pair).to(torch.float64).sqrt()) / 2).to(
        torch.int64)
    second = pair - first * (twice - first - 2) // 2 + 1
    return torch.linalg.vector_norm(input[first] - input[second], p, -1)


def _subtracted_from(function):
    """Returns torch.Tensor.__rsub__: of integers and a number with a fraction, as
    in `1.0 - mask`, the newer exporter makes an operator that there is not."""
    def called(input, other):
        if isinstance(other, float) and not (input.is_floating_point() or
                                             input.is_complex()):
            input = input.to(torch.get_default_dtype())
        return function(input, other)
    return called


def _sum(input, other, *, alpha=1, **options):
    """Is torch.add, of a number and a tensor: the newer exporter takes the first
    one for a tensor."""
    if isinstance(input, torch.Tensor) or options:
        return torch.add(input, other, alpha=alpha, **options)
    return other * alpha + input


def _squeezed(input, *dims, **named):
    """Is torch.squeeze: dims of another size than 1 stay, and are an error in a
    file."""
    if "dim" in named:
        dims = (named["dim"],)
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = dims[0]
    if not dims or not input.ndim or not all(isinstance(one, int)
                                             for one in dims):
        return torch.squeeze(input, *dims, **named)
    for one in sorted((one % input.ndim for one in dims), reverse=True):
        input = torch.squeeze(input, one) if input.size(one) == 1 else input
    return input


def _extreme(function, name):
    """Returns a function that takes the extreme of all elements of a tensor alone
    by this method, by which equal ones share the gradient."""
    def called(*args, **kwargs):
        if len(args) == 1 and not kwargs:
            return getattr(args[0].flatten(), name)(0)
        return function(*args, **kwargs)
    return called


def _extreme_of_numbers(chosen):
    """Returns torch.fmax or torch.fmin, which choose NaN where both are NaN."""
    def called(input, other):
        return torch.where(is_nan(other), input,
                           torch.where(is_nan(input), other, chosen(input, other)))
    return called


def _over_all(function):
    """Returns a function that may be given None for its dims, which the newer
    exporter writes as no shape at all."""
    def called(input, *dims, **named):
        if dims == (None,) or named.get("dim", 0) is None:
            dims, named = (tuple(range(input.ndim)),), {
                key: one for key, one in named.items() if key != "dim"}
        return function(input, *dims, **named)
    return called


def _angle(y, x):
    """Is torch.atan2: the angle whose tangent is at most 1, so that no gradient
    is infinite; at the origin there is none."""
    steep = y.abs() > x.abs()
    below = torch.where(steep, y, x)
    nowhere = below == 0
    above = torch.where(nowhere, 0, torch.where(steep, x, y))
    angle = torch.atan(above / torch.where(nowhere, 1, below))
    quarter = torch.where(y < 0, -math.pi / 2, math.pi / 2)
    return torch.where(steep, quarter - angle,
                       torch.where(x < 0, angle + 2 * quarter, angle))


def _angle_of(input):
    """Is torch.angle."""
    return (_angle(input.imag, input.real) if input.is_complex() else
            torch.angle(input))


def _hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46,
                    **options):
    """Is torch.hamming_window: ONNX's has other constants."""
    window = torch.hann_window(window_length, periodic, **options)
    return alpha - beta + 2 * beta * window


def _istft(input, n_fft, hop_length=None, win_length=None, window=None,
           center=True, normalized=False, onesided=None, length=None,
           return_complex=False):
    """Is torch.istft, of a signal that is real: frames are added up where they
    overlap, which is a transposed convolution."""
    if return_complex:
        return torch.istft(input, n_fft, hop_length, win_length, window, center,
                           normalized, onesided, length, return_complex)
    step = hop_length or n_fft // 4
    size = win_length or n_fft
    if window is None:
        window = torch.ones(size, device=input.device)
    left = (n_fft - size) // 2
    window = torch.nn.functional.pad(window, (left, n_fft - size - left))
    frames = input.reshape(-1, *input.shape[-2:])
    half = onesided is None and input.size(-2) == n_fft // 2 + 1 or onesided
    norm = "ortho" if normalized else "backward"
    parts = (torch.fft.irfft(frames, n_fft, 1, norm) if half else
             torch.fft.ifft(frames, n_fft, 1, norm).real) * window.view(-1, 1)
    each = torch.eye(n_fft, dtype=parts.dtype,
                     device=parts.device).unsqueeze(1)
    weights = (window**2).view(1, -1, 1).expand(1, -1, parts.size(-1))
    signal, weight = (torch.nn.functional.conv_transpose1d(one, each, stride=step)
                      for one in (parts, weights.to(parts.dtype)))
    begin = n_fft // 2 if center else 0
    full = signal.size(-1)
    end = (begin + length if length is not None else
           full - begin if center else full)
    signal = signal[..., begin:end] / weight[..., begin:end]
    if length is not None and end > full:
        signal = torch.nn.functional.pad(signal, (0, end - full))
    return signal.reshape(*input.shape[:-2], signal.size(-1))


def _strided(input, size, stride, storage_offset=None):
    """Is torch.as_strided of a tensor that is dense in its memory: exporters take
    it for one whose elements are there in their order."""
    order = sorted(range(input.ndim), key=lambda dim: -input.stride(dim))
    dense, offset = input.permute(order), input.storage_offset()
    if not dense.is_contiguous() or (offset == 0 and input.is_contiguous()):
        return torch.as_strided(input, size, stride, storage_offset)
    place = (offset if storage_offset is None else storage_offset) - offset
    for dim, (count, step) in enumerate(zip(size, stride)):
        along = torch.arange(count, device=input.device) * step
        place = place + along.view([-1] + [1] * (len(size) - dim - 1))
    return dense.flatten()[place]


def _column(input):
    return input.reshape(-1, 1) if input.ndim < 2 else input


def _stacked(shaped, dim):
    """Returns a function that joins tensors along a dim, each of which is first
    shaped: of several at once the newer exporter writes a sequence."""
    def called(tensors):
        each = [shaped(one) for one in tensors]
        return torch.cat(each, min(dim, each[0].ndim - 1))
    return called


def _convolution(input, weight, bias=None, *rest, **named):
    """Is torch.conv3d: without a bias the newer exporter writes one of another
    shape."""
    if bias is None:
        bias = input.new_zeros(weight.size(0))
    return torch.conv3d(input, weight, bias, *rest, **named)


WRITTEN = {
    **{one: _extreme(one, "amax")
       for one in (torch.amax, torch.Tensor.amax, torch.max, torch.Tensor.max)},
    **{one: _extreme(one, "amin")
       for one in (torch.amin, torch.Tensor.amin, torch.min, torch.Tensor.min)},
    **dict.fromkeys((torch.atan2, torch.arctan2, torch.Tensor.atan2,
                     torch.Tensor.arctan2), _angle),
    **both("angle", _angle_of),
    **both("masked_scatter", _masked_scatter),
    **both("scatter_reduce", _reducing(torch.scatter_reduce)),
    torch.Tensor.scatter_reduce_: _reducing(torch.Tensor.scatter_reduce_,
                                            in_place=True),
    **dict.fromkeys((torch.pdist, torch.nn.functional.pdist),
                    _distances_of_pairs),
    torch.Tensor.__rsub__: _subtracted_from(torch.Tensor.__rsub__),
    torch.add: _sum,
    **{one: _over_all(one) for one in (torch.mean, torch.Tensor.mean, torch.sum,
                                       torch.Tensor.sum)},
    **both("squeeze", _squeezed),
    **both("as_strided", _strided),
    torch.hstack: _stacked(torch.atleast_1d, 1),
    **dict.fromkeys((torch.vstack, torch.row_stack),
                    _stacked(torch.atleast_2d, 0)),
    torch.dstack: _stacked(torch.atleast_3d, 2),
    torch.column_stack: _stacked(_column, 1),
    **both("fmax", _extreme_of_numbers(torch.maximum)),
    **both("fmin", _extreme_of_numbers(torch.minimum)),
    torch.conv3d: _convolution,
    torch.hamming_window: _hamming_window,
    **both("istft", _istft),
}
