//===- Matrices.h - how the matrices of a product are stored --------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_MATRICES_H
#define ZEROGRAPH_RUNTIME_PLAN_MATRICES_H

#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// Says how a matrix of a product lies: row-major.
struct StoredMatrix {
  uint64_t rows = 0, columns = 0;
  uint64_t leading = 0; ///< elements from one row to the next
  uint64_t stride = 0;  ///< and from one matrix to the next; at most 2^64 - 1
};

/// The matrices that accesses 0, 1 and 2 of a product's step have.
struct StoredMatrices {
  StoredMatrix a, b, c;
};
StoredMatrices matricesOf(const plan::Matmul &matmul);

/// Returns the access of a product's step that is its scratch, if it has any.
inline int scratchAccess(const plan::Matmul &matmul) {
  return matmul.bias() ? 4 : 3;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_MATRICES_H
