"""Factors of small matrices, and what is computed by them, in operations that
exporters write."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ._library import Error
from ._matrices import (columns_of, eye, improved, improved_left, refuse,
                        transposed, zero)


def _triangle(matrix: torch.Tensor, upper: bool) -> torch.Tensor:
    return matrix.triu() if upper else matrix.tril()


def _triangular_inverse(matrix: torch.Tensor, name: str) -> torch.Tensor:
    """Returns the inverses of triangular matrices, without gradients. Each step
    makes, of the inverses of the blocks on the diagonal, those of blocks twice as
    large."""
    n = columns_of(matrix, name)
    matrix = matrix.detach()
    inverse = eye(matrix, n) / matrix.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    place = torch.arange(n, device=matrix.device)
    size = 1
    while size < n:
        block, larger = place // size, place // (2 * size)
        beside = (block[:, None] != block) & (larger[:, None] == larger)
        inverse = inverse - inverse @ (matrix * beside) @ inverse
        size *= 2
    return inverse


def _solve_triangular(A: torch.Tensor, B: torch.Tensor, *, upper: bool,
                      left: bool = True,
                      unitriangular: bool = False) -> torch.Tensor:
    """Is torch.linalg.solve_triangular."""
    name = "torch.linalg.solve_triangular"
    A = _triangle(A, upper)
    if unitriangular:
        one = eye(A, columns_of(A, name))
        A = A * (1 - one) + one
    inverse = _triangular_inverse(A, name)
    return (improved if left else improved_left)(A, inverse, B)


def _lower_factor(matrix: torch.Tensor, n: int) -> torch.Tensor:
    """Returns Cholesky's factors."""
    columns, rest = [], matrix
    for i in range(n):
        column = rest[..., i]
        column = column / column[..., i:i + 1].sqrt()
        columns.append(column)
        rest = rest - column.unsqueeze(-1) * column.unsqueeze(-2)
    return torch.stack(columns, -1).tril()


def _cholesky(A: torch.Tensor, *, upper: bool = False) -> torch.Tensor:
    """Is torch.linalg.cholesky, which reads one triangle, and has the gradients of
    a symmetric matrix."""
    name = "torch.linalg.cholesky"
    n = columns_of(A, name)
    own = _triangle(A.detach(), upper)
    factor = _lower_factor(own + transposed(own) - own * eye(A, n), n).detach()
    inverse = _triangular_inverse(factor, name).detach()
    change = inverse @ zero((A + transposed(A)) / 2) @ transposed(inverse)
    halves = torch.ones_like(change).tril() - 0.5 * eye(A, n)
    factor = factor + factor @ (change * halves)
    return transposed(factor) if upper else factor


def _cholesky_solution(B: torch.Tensor, L: torch.Tensor, upper: bool = False,
                       name="torch.cholesky_solve") -> torch.Tensor:
    """Is torch.cholesky_solve, which has gradients for both triangles."""
    L = _triangle(L, upper).detach() + zero(L)
    L = transposed(L) if upper else L
    inverse = _triangular_inverse(L, name)
    return improved(transposed(L), transposed(inverse), improved(L, inverse, B))


def _cholesky_inverse(L: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """Is torch.cholesky_inverse."""
    name = "torch.cholesky_inverse"
    return _cholesky_solution(eye(L, columns_of(L, name)), L, upper, name)


def _reflected(matrix: torch.Tensor, name: str
               ) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns Q and R of matrices that are not wide, by Householder, without
    gradients. Signs are LAPACK's."""
    m, n = columns_of(transposed(matrix), name), columns_of(matrix, name)
    one, matrix = eye(matrix, m), matrix.detach()
    rows = torch.cat([matrix, one.expand(*matrix.shape[:-1], m)], -1)
    below = torch.ones_like(one).tril()
    for i in range(min(n, m - 1)):
        column = rows[..., i:i + 1] * below[:, i:i + 1]
        length = column.square().sum(-2, keepdim=True).sqrt()
        first = column[..., i:i + 1, :]
        made = torch.where(first < 0, length, -length)
        # LAPACK leaves a column as it is that ends with zeros.
        turns = column[..., i + 1:, :].abs().sum(-2, keepdim=True) > 0
        axis = torch.where(turns, column - made * one[:, i:i + 1], 0.0)
        scale = torch.where(turns, made * (made - first), 1.0)
        rows = rows - axis * (transposed(axis) @ rows) / scale
    return transposed(rows[..., :n, n:]), rows[..., :n, :n].triu()


def _orthogonal(matrix: torch.Tensor, name: str
                ) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns Q and R of matrices that are not wide."""
    q, r = (one.detach() for one in _reflected(matrix, name))
    change = zero(matrix) @ _triangular_inverse(r, name).detach()
    own = transposed(q) @ change
    lower = own.tril(-1)
    turn = lower - transposed(lower)
    return q + change + q @ (turn - own), r + (own - turn) @ r


def _qr(A: torch.Tensor, mode: str = "reduced"):
    """Is torch.linalg.qr."""
    name = "torch.linalg.qr"
    m, n = columns_of(transposed(A), name), columns_of(A, name)
    if mode == "r" or (mode == "complete" and m > n):
        raise Error(f"{name} with mode=\"{mode}\" has no gradients in PyTorch: "
                    "expected \"reduced\"")
    q, r = _orthogonal(A[..., :m], name)
    if n > m:
        r = torch.cat([r, transposed(q) @ A[..., m:]], -1)
    return torch.return_types.linalg_qr((q, r))


def _pseudo_inverse(A: torch.Tensor, *args, **options) -> torch.Tensor:
    """Is torch.linalg.pinv of matrices of full rank."""
    name = "torch.linalg.pinv"
    if args or options:
        refuse(f"{name} with more than a matrix")
    m, n = columns_of(transposed(A), name), columns_of(A, name)
    if m < n:
        return transposed(_pseudo_inverse(transposed(A)))
    q, r = _orthogonal(A, name)
    return improved(r, _triangular_inverse(r, name), transposed(q))


WRITTEN: dict[Callable, Callable] = {
    torch.linalg.solve_triangular: _solve_triangular,
    torch.linalg.cholesky: _cholesky,
    torch.cholesky_solve: _cholesky_solution,
    torch.Tensor.cholesky_solve: _cholesky_solution,
    torch.cholesky_inverse: _cholesky_inverse,
    torch.Tensor.cholesky_inverse: _cholesky_inverse,
    torch.linalg.qr: _qr,
    torch.pinverse: _pseudo_inverse,
    torch.Tensor.pinverse: _pseudo_inverse,
    torch.linalg.pinv: _pseudo_inverse,
}
