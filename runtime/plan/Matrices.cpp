//===- Matrices.cpp - how the matrices of a product are stored ------------===//

#include "runtime/plan/Matrices.h"

#include "runtime/base/Checked.h"

using namespace zerograph;

static StoredMatrix stored(uint64_t rows, uint64_t columns, bool transposed,
                           uint64_t leading) {
  StoredMatrix matrix;
  matrix.rows = transposed ? columns : rows;
  matrix.columns = transposed ? rows : columns;
  matrix.leading = leading ? leading : matrix.columns;
  matrix.stride = (Checked(matrix.rows) * matrix.leading).saturated();
  return matrix;
}

StoredMatrices zerograph::matricesOf(const plan::Matmul &matmul) {
  uint64_t m = matmul.m(), n = matmul.n(), k = matmul.k();
  return {stored(m, k, matmul.transpose_a(), matmul.lda()),
          stored(k, n, matmul.transpose_b(), matmul.ldb()),
          stored(m, n, /*transposed=*/false, matmul.ldc())};
}
