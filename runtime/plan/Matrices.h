//===- Matrices.h - how the matrices of a product are stored --------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_MATRICES_H
#define ZEROGRAPH_RUNTIME_PLAN_MATRICES_H

#include "runtime/base/Checked.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// A matrix of a product, row-major.
struct StoredMatrix {
  uint64_t rows = 0, columns = 0;
  uint64_t leading = 0; ///< elements from one row to the next
  /// Elements from one matrix of the batch to the next.
  Checked stride() const { return Checked(rows) * leading; }
};

/// The three of a product, as the steps' accesses have them.
struct StoredMatrices {
  StoredMatrix a, b, c;
};
StoredMatrices matricesOf(const plan::Matmul &matmul);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_MATRICES_H
