"""Functions of complex tensors that exporters do not write, by their real and
imaginary parts."""

from __future__ import annotations

from collections.abc import Callable

import torch


def _is_complex(one) -> bool:
    return isinstance(one, complex) or (isinstance(one, torch.Tensor) and
                                        one.is_complex())


def _real(one):
    return one.real if _is_complex(one) else one


def _imaginary(one):
    return (one.imag if _is_complex(one) else
            torch.zeros_like(one) if isinstance(one, torch.Tensor) else 0)


def _einsum(equation, *operands):
    """Is torch.einsum, which is linear in each operand."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    found = next((i for i, one in enumerate(operands) if _is_complex(one)), None)
    if not isinstance(equation, str) or found is None:
        return torch.einsum(equation, *operands)
    one, before, after = operands[found], operands[:found], operands[found + 1:]
    real, imaginary = (_einsum(equation, *before, part, *after)
                       for part in (one.real, one.imag))
    if _is_complex(real):
        return torch.complex(real.real - imaginary.imag,
                             real.imag + imaginary.real)
    return torch.complex(real, imaginary)


def _where(condition, *sides, **named):
    """Is torch.where."""
    if not any(map(_is_complex, sides)):
        return torch.where(condition, *sides, **named)
    return torch.complex(*(torch.where(condition, *map(part, sides))
                           for part in (_real, _imaginary)))


def _product(function: Callable) -> Callable:
    """Returns torch.mul, also of a number of Python that is complex."""
    def called(input, other):
        if isinstance(input, complex):
            input, other = other, input
        if not isinstance(other, complex):
            return function(input, other)
        real, imaginary = _real(input), input.imag if _is_complex(input) else None
        if imaginary is None:
            return torch.complex(real * other.real, real * other.imag)
        return torch.complex(real * other.real - imaginary * other.imag,
                             real * other.imag + imaginary * other.real)
    return called


def _exponential(input):
    """Is torch.exp."""
    return (torch.polar(input.real.exp(), input.imag) if _is_complex(input) else
            torch.exp(input))


def _by_parts(function: Callable) -> Callable:
    """Returns a function that moves the elements of one tensor."""
    def called(input, *args, **options):
        if not _is_complex(input):
            return function(input, *args, **options)
        return torch.complex(function(input.real, *args, **options),
                             function(input.imag, *args, **options))
    return called


def element(function: Callable) -> Callable:
    """Returns torch.Tensor.__getitem__, which exporters write by slices alone."""
    parts = _by_parts(function)

    def called(input, index):
        chosen = index if isinstance(index, tuple) else (index,)
        slices = all(isinstance(one, slice) or one is Ellipsis for one in chosen)
        return (function if slices else parts)(input, index)
    return called


def _power(function: Callable) -> Callable:
    """Returns torch.pow, whose complex numbers are multiplied."""
    def called(input, exponent):
        if not (_is_complex(input) and isinstance(exponent, int) and
                0 < exponent < 9):
            return function(input, exponent)
        result = input
        for _ in range(exponent - 1):
            result = result * input
        return result
    return called


def _logarithm(input):
    """Is torch.log."""
    return (torch.complex(torch.log(input.abs()), input.angle())
            if _is_complex(input) else torch.log(input))


def _assigned(function: Callable) -> Callable:
    """Returns torch.Tensor.__setitem__: the parts are where a view has them."""
    def called(input, index, value):
        if not _is_complex(input):
            return function(input, index, value)
        chosen = index if isinstance(index, tuple) else (index,)
        if any(one is Ellipsis for one in chosen):
            chosen = (*chosen, slice(None))
        parts = [torch.as_tensor(part(value)) for part in (_real, _imaginary)]
        value = torch.stack(parts, -1).to(input.real.dtype)
        return function(torch.view_as_real(input), chosen, value)
    return called


def _zeros(*size, dtype=None, **options):
    """Is torch.zeros, whose parts can be assigned."""
    if dtype is None or not dtype.is_complex:
        return torch.zeros(*size, dtype=dtype, **options)
    size = size[0] if len(size) == 1 and not isinstance(
        size[0], (int, torch.SymInt)) else size
    return torch.view_as_complex(torch.zeros(*size, 2, dtype=dtype.to_real(),
                                             **options))


def _zeros_like(input, **options):
    """Is torch.zeros_like, whose parts can be assigned."""
    if options or not _is_complex(input):
        return torch.zeros_like(input, **options)
    return _zeros(input.shape, dtype=input.dtype, device=input.device)


def _transform(name: str) -> Callable:
    """Returns a function of torch.fft, which fills a spectrum up with zeros."""
    function = getattr(torch.fft, name)
    padded = _by_parts(torch.nn.functional.pad)

    def called(input, n=None, dim=-1, norm=None):
        if n is not None and _is_complex(input):
            length = n // 2 + 1 if name in ("irfft", "hfft") else n
            missing = max(0, length - input.size(dim))
            after = input.ndim - 1 - dim % input.ndim
            input = padded(input, [0, 0] * after + [0, missing])
        return function(input, n, dim, norm)
    return called


WRITTEN = {
    torch.einsum: _einsum,
    torch.where: _where,
    torch.Tensor.where: lambda input, condition, other: _where(
        condition, input, other),
    **{one: _product(one) for one in (torch.mul, torch.Tensor.mul,
                                      torch.Tensor.__mul__,
                                      torch.Tensor.__rmul__)},
    **dict.fromkeys((torch.exp, torch.Tensor.exp), _exponential),
    torch.Tensor.__setitem__: _assigned(torch.Tensor.__setitem__),
    torch.zeros: _zeros,
    torch.zeros_like: _zeros_like,
    **dict.fromkeys((torch.log, torch.Tensor.log), _logarithm),
    **{one: _power(one) for one in (torch.pow, torch.Tensor.pow,
                                    torch.Tensor.__pow__)},
    **{one: _by_parts(one) for one in (torch.unsqueeze, torch.Tensor.unsqueeze,
                                       torch.nn.functional.pad)},
    **{getattr(torch.fft, name): _transform(name)
       for name in ("fft", "ifft", "irfft", "hfft")},
}
