"""Linear algebra of small matrices by elimination, and what needs none, in
operations that exporters write."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection

import torch

from ._matrices import (columns_of, eye, improved, improved_left, refuse,
                        transposed, zero)


class _Elimination:
    """Inverts matrices by Gauss and Jordan, with partial pivoting, without
    gradients. Rows are not exchanged: a mask says which have had their turn."""

    def __init__(self, matrix: torch.Tensor, name: str):
        n = columns_of(matrix, name)
        matrix, one = matrix.detach(), eye(matrix, n)
        rows = torch.cat([matrix, one.expand(matrix.shape)], -1)
        left, order, self._pivots, self._places = None, [], [], []
        for i in range(n):
            column = rows[..., i]
            scores = column.abs()
            if left is not None:
                scores = torch.where(left, scores, -1.0)
            place = scores.argmax(-1, keepdim=True)
            is_chosen = place == torch.arange(n, device=matrix.device)
            left = ~is_chosen if left is None else left & ~is_chosen
            chosen = is_chosen.to(matrix.dtype)
            row = (rows * chosen.unsqueeze(-1)).sum(-2, keepdim=True)
            pivot = row[..., i]
            # A singular matrix has no pivot left, and no inverse.
            divisor = torch.where(pivot == 0, 1.0, pivot)
            rows = rows - (column - chosen).unsqueeze(-1) * (
                row / divisor.unsqueeze(-1))
            order.append(chosen)
            self._pivots.append(pivot)
            self._places.append(place)
        inverse = torch.stack(order, -2) @ rows[..., n:]
        self.is_singular = (self.pivots() == 0).any(-1)
        self.inverse = inverse + inverse @ (one - matrix @ inverse)

    def pivots(self) -> torch.Tensor:
        return torch.cat(self._pivots, -1)

    def without_singular(self, inverse: torch.Tensor) -> torch.Tensor:
        """Returns an inverse that is NaN of singular matrices."""
        return torch.where(self.is_singular[..., None, None], math.nan, inverse)

    def sign(self) -> torch.Tensor:
        """Returns the signs of the determinants."""
        places, pivots = torch.cat(self._places, -1), self.pivots()
        swaps = (places.unsqueeze(-1) > places.unsqueeze(-2)).to(
            pivots.dtype).triu().sum((-2, -1))
        return (1 - 2 * swaps.remainder(2)) * pivots.sign().prod(-1)


def _inverse(A: torch.Tensor) -> torch.Tensor:
    """Is torch.linalg.inv, but NaN of a singular matrix."""
    found = _Elimination(A, "torch.linalg.inv")
    inverse = found.without_singular(found.inverse).detach()
    return inverse + inverse @ (eye(A, A.shape[-1]) - A @ inverse)


def _solution(A: torch.Tensor, B: torch.Tensor, *,
              left: bool = True) -> torch.Tensor:
    """Is torch.linalg.solve."""
    found = _Elimination(A, "torch.linalg.solve")
    inverse = found.without_singular(found.inverse)
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if is_vector:
        return improved(A, inverse, B.unsqueeze(-1)).squeeze(-1)
    return (improved if left else improved_left)(A, inverse, B)


def _with_gradient(value: torch.Tensor, matrix: torch.Tensor,
                   gradient: torch.Tensor) -> torch.Tensor:
    change = (zero(matrix) * gradient.detach()).sum((-2, -1))
    return torch.where(value.isinf(), value, value.detach() + change)


def _determinant(A: torch.Tensor) -> torch.Tensor:
    """Is torch.linalg.det, but has no gradient where it is 0."""
    found = _Elimination(A, "torch.linalg.det")
    value = found.sign() * found.pivots().abs().prod(-1)
    each = value.unsqueeze(-1).unsqueeze(-1)
    return _with_gradient(value, A, torch.where(
        each == 0, 0.0, transposed(found.inverse) * each))


def _sign_and_log(A: torch.Tensor, name="torch.linalg.slogdet"):
    """Is torch.linalg.slogdet."""
    found = _Elimination(A, name)
    value = found.pivots().abs().log().sum(-1)
    return torch.return_types.linalg_slogdet((
        found.sign().detach(),
        _with_gradient(value, A, transposed(found.inverse))))


def _log_determinant(A: torch.Tensor) -> torch.Tensor:
    """Is torch.logdet."""
    sign, value = _sign_and_log(A, "torch.logdet")
    return value + sign.log()  # which is 0, or NaN


def _power(input: torch.Tensor, n: int) -> torch.Tensor:
    """Is torch.linalg.matrix_power."""
    factor = input if n >= 0 else _inverse(input)
    result = eye(input, input.shape[-1]).expand_as(input) if n == 0 else None
    n = abs(n)
    while n > 0:
        if n % 2 == 1:
            result = factor if result is None else result @ factor
        n //= 2
        factor = factor @ factor if n > 0 else factor
    return result


def _exponential(input: torch.Tensor) -> torch.Tensor:
    """Is torch.linalg.matrix_exp, by a Taylor series of an argument that is halved
    until its norm is below 0.5, and by as many squares."""
    norm = input.detach().abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    halved = [norm > 0.5 * 2**i for i in range(12)]
    x = input
    for each in halved:
        x = torch.where(each, 0.5 * x, x)
    one, x2 = eye(input, input.shape[-1]), x @ x
    x4 = x2 @ x2
    factor = [1 / math.factorial(i) for i in range(9)]
    high = (factor[4] * one + factor[5] * x +
            x2 @ (factor[6] * one + factor[7] * x + factor[8] * x2))
    value = one + x + x2 @ (factor[2] * one + factor[3] * x) + x4 @ high
    for each in halved:
        value = torch.where(each, value @ value, value)
    return value


def _covariance(input: torch.Tensor, *, correction: int = 1, fweights=None,
                aweights=None) -> torch.Tensor:
    """Is torch.cov."""
    if fweights is not None or aweights is not None:
        refuse("torch.cov with weights")
    rows = input.reshape(-1, input.shape[-1])
    rows = rows - rows.mean(-1, keepdim=True)
    return (rows @ transposed(rows) / (input.shape[-1] - correction)).squeeze()


def _correlation(input: torch.Tensor) -> torch.Tensor:
    """Is torch.corrcoef."""
    value = _covariance(input)
    if value.ndim == 0:
        return value / value
    deviation = value.diagonal().sqrt()
    return (value / deviation.unsqueeze(-1) / deviation).clamp(-1, 1)


def _norm(name: str, refused: Collection) -> Callable:
    """Returns a function of torch.linalg, which refuses the orders that need
    singular values."""
    function = getattr(torch.linalg, name)

    def compute(A, ord=None, *args, **options):
        if ord in refused:
            refuse(f"torch.linalg.{name} of order {ord!r}")
        given = () if ord is None else (ord,)
        return function(A, *given, *args, **options)

    return compute


WRITTEN: dict[Callable, Callable] = {
    torch.inverse: _inverse,
    torch.Tensor.inverse: _inverse,
    torch.linalg.inv: _inverse,
    torch.linalg.solve: _solution,
    torch.det: _determinant,
    torch.Tensor.det: _determinant,
    torch.linalg.det: _determinant,
    torch.slogdet: _sign_and_log,
    torch.Tensor.slogdet: _sign_and_log,
    torch.linalg.slogdet: _sign_and_log,
    torch.logdet: _log_determinant,
    torch.Tensor.logdet: _log_determinant,
    torch.matrix_power: _power,
    torch.Tensor.matrix_power: _power,
    torch.linalg.matrix_power: _power,
    torch.matrix_exp: _exponential,
    torch.Tensor.matrix_exp: _exponential,
    torch.linalg.matrix_exp: _exponential,
    torch.cov: _covariance,
    torch.Tensor.cov: _covariance,
    torch.corrcoef: _correlation,
    torch.Tensor.corrcoef: _correlation,
    torch.linalg.norm: _norm("norm", ("nuc",)),
    torch.linalg.matrix_norm: _norm("matrix_norm", ("nuc", 2, -2)),
    torch.svd: functools.partial(refuse, "torch.svd"),
    torch.Tensor.svd: functools.partial(refuse, "torch.svd"),
    **{getattr(torch.linalg, name): functools.partial(
        refuse, f"torch.linalg.{name}") for name in (
            "cond", "eig", "eigh", "eigvals", "eigvalsh", "householder_product",
            "lstsq", "lu", "lu_factor", "matrix_rank", "svd", "svdvals")},
}
