"""Parts of the functions of matrices that are written out for exporters.

An elimination, which has a step for each column, is computed without gradients, of
detached matrices. They come in by a last step whose derivative is that of the
function: one of Newton's, which also takes rounding away, or a term that is 0. So
they do not go back through the elimination. They are right too if an exporter
leaves detach() out: the derivative of such a step by what it starts from is 0. In a
trace of a loss that takes gradients itself they are left out, so that the second
derivatives go through the elimination (`_traced`)."""

from __future__ import annotations

import torch

from ._library import Error

#: A file has as many steps as a matrix has columns.
_LARGEST = 64


def refuse(name: str, *_, **__):
    raise Error(
        f"{name}: no exporter writes it, and zg.export does not write it out. "
        "Give what it computes as an input, if that depends on nothing that is "
        "trained, or compute with other functions: torch.linalg.inv, solve, "
        "cholesky, qr, slogdet and matrix_exp are written out")


def columns_of(matrix: torch.Tensor, name: str) -> int:
    """Returns how many columns a matrix has, which must be fixed and few."""
    n = matrix.shape[-1]
    if isinstance(n, torch.SymInt):
        raise Error(
            f"{name} of a matrix whose size may vary: no exporter writes it, and "
            "zg.export writes it out for a fixed size alone. If it is one of "
            "samples by samples, let each sample of the file be a set of them: "
            "inputs of shape [sets, size, ...]")
    if n > _LARGEST:
        raise Error(
            f"{name} of a matrix of size {int(n)}: no exporter writes it, and "
            f"zg.export writes it out for sizes up to {_LARGEST}. Compute with "
            "smaller matrices, or give what it computes as an input, if that "
            "depends on nothing that is trained")
    return int(n)  # it is a tensor in the older exporter


def eye(like: torch.Tensor, n: int) -> torch.Tensor:
    return torch.eye(n, dtype=like.dtype, device=like.device)


def transposed(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.transpose(-2, -1)  # the older exporter knows no .mT


def zero(matrix: torch.Tensor) -> torch.Tensor:
    """Returns zeros that have a matrix's gradient."""
    return matrix + -matrix.detach()  # a - a would be taken for a mistake


def improved(matrix: torch.Tensor, inverse: torch.Tensor,
             right: torch.Tensor) -> torch.Tensor:
    """Returns what a matrix maps to `right`, by its inverse without gradients."""
    inverse = inverse.detach()
    start = (inverse @ right).detach()
    return start + inverse @ (right - matrix @ start)


def improved_left(matrix: torch.Tensor, inverse: torch.Tensor,
                  right: torch.Tensor) -> torch.Tensor:
    """Returns the same of a matrix that is multiplied from the right."""
    return transposed(improved(transposed(matrix), transposed(inverse),
                               transposed(right)))
