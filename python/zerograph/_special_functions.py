"""Special functions, such as torch.lgamma, in operations that exporters write.

Their values are about as exact as PyTorch's in float32. Gradients are those of
what is computed, but erfinv's. The branch that `torch.where` does not take
computes with a number for which nothing is infinite: else the gradient would be
NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch

from ._gradients import with_gradient
from ._library import Error
from ._parts import both, in_float32

#: (lgamma(2 + t) / t) on [-0.5, 0.5], to 1e-11.
_LOG_GAMMA = (-5.279721809e-05, 0.0001150035554, -0.000220863584,
              0.0005056574213, -0.001193056068, 0.002890956191, -0.00738553314,
              0.02058078833, -0.06735230144, 0.3224670337, 0.4227843351)
#: The two halves of M. Giles, "Approximating the erfinv function", table 5.
_ERFINV_CENTER = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                  -4.39150654e-06, 0.00021858087, -0.00125372503,
                  -0.00417768164, 0.246640727, 1.50140941)
_ERFINV_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
                2.83297682)
#: Numerical Recipes, erfcc: to 1.2e-7 of erfc everywhere.
_ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
         -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223)
#: Abramowitz and Stegun, 9.8.1 to 9.8.4.
_I0_SMALL = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229,
             1.0)
_I0_LARGE = (0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281,
             -0.00157565, 0.00225319, 0.01328592, 0.39894228)
_I1_SMALL = (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869,
             0.87890594, 0.5)
_I1_LARGE = (-0.00420059, 0.01787654, -0.02895312, 0.02282967, -0.01031555,
             0.00163801, -0.00362018, -0.03988024, 0.39894228)


def _floating(x: torch.Tensor) -> torch.Tensor:
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())


def _polynomial(x: torch.Tensor, factors: Iterable[float]) -> torch.Tensor:
    """Returns a polynomial whose factors are given from the highest power on."""
    first, *rest = factors
    value = first
    for factor in rest:
        value = value * x + factor
    return value


def _mirrored(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the argument for which a function is computed whose other half is
    known by reflection, and the angle that this needs, which is a right one where
    nothing is reflected."""
    angle = torch.where(x > 0, 0.5, x - x.round().detach()) * math.pi
    return torch.where(x > 0, x, 1 - x), angle


def _shifted(x: torch.Tensor, by: int) -> tuple[torch.Tensor, ...]:
    """Returns an argument of at least 8, for an asymptotic series, whether it was
    shifted up to there, and from which place."""
    small = x < 8
    return torch.where(small, x + by, x), small, torch.where(small, x, 1.0)


def _log_gamma_far(x: torch.Tensor) -> torch.Tensor:
    """Returns lgamma from 2 on, by Stirling's series."""
    z, small, low = _shifted(x, 6)
    product = low
    for k in range(1, 6):
        product = product * (low + k)
    inverse = 1 / z
    series = inverse * _polynomial(inverse * inverse, (1 / 1260, -1 / 360, 1 / 12))
    return ((z - 0.5) * z.log() - z + 0.5 * math.log(2 * math.pi) + series -
            torch.where(small, product.log(), 0.0))


def _log_gamma_near(x: torch.Tensor) -> torch.Tensor:
    """Returns lgamma between 0 and 2.5, exact where it is 0."""
    product = torch.where(x < 0.5, x * (x + 1), torch.where(x < 1.5, x, 1.0))
    t = x - torch.where(x < 0.5, 0.0, torch.where(x < 1.5, 1.0, 2.0))
    return t * _polynomial(t, _LOG_GAMMA) - product.log()


def _log_gamma(input: torch.Tensor) -> torch.Tensor:
    """Is torch.lgamma."""
    input = _floating(input)
    x, angle = _mirrored(input)
    near = x < 2.5
    value = torch.where(near, _log_gamma_near(torch.where(near, x, 2.0)),
                        _log_gamma_far(torch.where(near, 8.0, x)))
    reflected = math.log(math.pi) - angle.sin().abs().log() - value
    return torch.where(input > 0, value, reflected)


def _multivariate_log_gamma(input: torch.Tensor, p: int) -> torch.Tensor:
    """Is torch.mvlgamma."""
    halves = torch.arange(p, dtype=input.dtype, device=input.device) / 2
    return (_log_gamma(input.unsqueeze(-1) - halves).sum(-1) +
            p * (p - 1) / 4 * math.log(math.pi))


def _gamma_terms(input: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns what the derivatives of lgamma are made of: the angle of a
    reflection, the argument of the series, and the reciprocals of what it was
    shifted over."""
    x, angle = _mirrored(input)
    z, small, low = _shifted(x, 8)
    passed = torch.stack([1 / (low + k) for k in range(8)])
    return angle, z, torch.where(small, passed, 0.0)


def _digamma(input: torch.Tensor) -> torch.Tensor:
    """Is torch.digamma."""
    input = _floating(input)
    angle, z, passed = _gamma_terms(input)
    inverse = 1 / z
    squared = inverse * inverse
    series = squared * _polynomial(squared, (1 / 252, -1 / 120, 1 / 12))
    value = z.log() - 0.5 * inverse - series - passed.sum(0)
    return torch.where(input > 0, value,
                       value - math.pi * angle.cos() / angle.sin())


def _trigamma(input: torch.Tensor) -> torch.Tensor:
    """Is torch.polygamma of order 1."""
    input = _floating(input)
    angle, z, passed = _gamma_terms(input)
    inverse = 1 / z
    squared = inverse * inverse
    series = inverse * squared * _polynomial(squared, (1 / 42, -1 / 30, 1 / 6))
    value = inverse + 0.5 * squared + series + passed.square().sum(0)
    return torch.where(input > 0, value, (math.pi / angle.sin())**2 - value)


def _polygamma(n: int, input: torch.Tensor) -> torch.Tensor:
    """Is torch.polygamma."""
    if n > 1:
        raise Error(f"torch.polygamma of order {n}: no exporter writes it, and "
                    "zg.export writes out orders 0 and 1 alone")
    return _trigamma(input) if n == 1 else _digamma(input)


def _error_inverse(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Returns erfinv of x, of which `w` is -log(1 - x * x)."""
    near = w < 5
    center = _polynomial(torch.where(near, w, 0.0) - 2.5, _ERFINV_CENTER)
    tail = _polynomial(torch.where(near, 5.0, w).sqrt() - 3, _ERFINV_TAIL)
    return (torch.where(near, center, tail) * x).detach()


def _erfinv(input: torch.Tensor) -> torch.Tensor:
    """Is torch.erfinv."""
    x = _floating(input)
    y = _error_inverse(x, -((1 - x) * (1 + x)).log())
    return with_gradient(y, x, math.sqrt(math.pi) / 2 * (y * y).exp())


def _normal_inverse(input: torch.Tensor) -> torch.Tensor:
    """Is torch.special.ndtri."""
    p = _floating(input)
    y = math.sqrt(2) * _error_inverse(2 * p - 1, -(4 * p * (1 - p)).log())
    return with_gradient(y, p, math.sqrt(2 * math.pi) * (y * y / 2).exp())


def _scaled_error(z: torch.Tensor) -> torch.Tensor:
    """Returns exp(z * z) * erfc(z) of a z that is not below 0."""
    t = 1 / (1 + 0.5 * z)
    return t * _polynomial(t, _ERFC).exp()


def _error_rest(input: torch.Tensor) -> torch.Tensor:
    """Is torch.erfc. That of exporters, 1 - erf, is 0 from 4 on. Both parts have
    derivatives of any order."""
    x = _floating(input)
    # Above 30 it is 0.
    above = torch.where(x < 0.5, 0.5, torch.where(x > 30, 30.0, x))
    return torch.where(x < 0.5, 1 - torch.erf(x),
                       _scaled_error(above) * (-above * above).exp())


def _scaled_error_rest(input: torch.Tensor) -> torch.Tensor:
    """Is torch.special.erfcx."""
    x = _floating(input)
    above = _scaled_error(x.abs())
    y = torch.where(x < 0, 2 * (x * x).exp() - above, above).detach()
    return with_gradient(y, x, 2 * x * y - 2 / math.sqrt(math.pi))


def _log_normal(input: torch.Tensor) -> torch.Tensor:
    """Is torch.special.log_ndtr, by erfc(z) = t * exp(p(t) - z * z)."""
    x = _floating(input)
    z = x.abs() / math.sqrt(2)
    t = 1 / (1 + 0.5 * z)
    exponent = _polynomial(t, _ERFC) - z * z
    below = (0.5 * t).log() + exponent
    return torch.where(x < 0, below, torch.log1p(-0.5 * t * exponent.exp()))


def _bessel(small: Iterable[float], large: Iterable[float], odd: bool,
            scaled: bool) -> Callable:
    """Returns a modified Bessel function of the first kind; a `scaled` one is
    divided by exp(|x|)."""

    def compute(input: torch.Tensor) -> torch.Tensor:
        x = _floating(input)
        size = x.abs()
        near = size < 3.75
        low, high = torch.where(near, x, 0.0), torch.where(near, 3.75, size)
        value = _polynomial((low / 3.75)**2, small)
        rest = _polynomial(3.75 / high, large) / high.sqrt()
        if odd:
            value, rest = value * low, rest * x.sign()
        if scaled:
            return torch.where(near, value * (-low.abs()).exp(), rest)
        return torch.where(near, value, rest * high.exp())

    return compute


def _hypot(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Is torch.hypot: squares are of numbers of at most 1."""
    size = torch.maximum(input.abs(), other.abs()).detach()
    size = torch.where(size == 0, 1.0, size)
    return size * ((input / size)**2 + (other / size)**2).sqrt()


_I0 = _bessel(_I0_SMALL, _I0_LARGE, odd=False, scaled=False)

_WRITTEN: dict[Callable, Callable] = {
    **both("lgamma", _log_gamma),
    torch.special.gammaln: _log_gamma,
    **both("mvlgamma", _multivariate_log_gamma),
    torch.special.multigammaln: _multivariate_log_gamma,
    **both("digamma", _digamma),
    torch.special.digamma: _digamma,
    torch.special.psi: _digamma,
    torch.polygamma: _polygamma,
    torch.Tensor.polygamma: lambda input, n: _polygamma(n, input),
    torch.special.polygamma: _polygamma,
    **both("erfinv", _erfinv),
    torch.special.erfinv: _erfinv,
    **both("erfc", _error_rest),
    torch.special.erfc: _error_rest,
    torch.special.erfcx: _scaled_error_rest,
    torch.special.ndtri: _normal_inverse,
    torch.special.log_ndtr: _log_normal,
    **both("i0", _I0),
    torch.special.i0: _I0,
    torch.special.i0e: _bessel(_I0_SMALL, _I0_LARGE, odd=False, scaled=True),
    torch.special.i1: _bessel(_I1_SMALL, _I1_LARGE, odd=True, scaled=False),
    torch.special.i1e: _bessel(_I1_SMALL, _I1_LARGE, odd=True, scaled=True),
    **both("hypot", _hypot),
}

WRITTEN = {function: in_float32(written)
           for function, written in _WRITTEN.items()}


def _in_place(written: Callable) -> Callable:
    """Returns the function that overwrites its first argument."""
    return lambda input, *args: input.copy_(written(input, *args))


WRITTEN.update({getattr(torch.Tensor, f"{name}_"): _in_place(
    WRITTEN[getattr(torch.Tensor, name)])
    for name in ("erfc", "lgamma", "digamma", "erfinv", "hypot", "i0")})
