//===- Product.h - a product of matrices, as a GPU's library does it ------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PRODUCT_H
#define ZEROGRAPH_TESTS_EMULATOR_PRODUCT_H

#include "tests/emulator/Elements.h"

#include <random>

namespace zerograph::emulator {

/// Matrices in memory, column-major; one begins `stride` elements after the
/// other.
struct Matrices {
  cudaDataType_t type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t count = 1;
  int64_t stride = 0;

  uint64_t elementBytes() const { return emulator::elementBytes(type); }
  /// From the first element to after the last.
  uint64_t bytes() const;
};

/// Computes D = op(A) op(B), or D += op(A) op(B), perhaps plus a bias that each
/// column of D has. Sums are of products in ascending order of the inner index,
/// in the type of the computation.
struct Product {
  Matrices a, b, d;
  bool transpose_a = false, transpose_b = false;
  cublasComputeType_t compute = 0;
  /// Parts of the inner index that are summed up apart...
  uint32_t parts = 1;
  /// ... and then added, in their order or in one that is drawn.
  bool ordered = true;
  /// The sum of all of it is added to D, and then rounded to its type.
  bool adds = false;
  /// A vector of D's rows, of its type, is added before that too.
  bool biased = false;

  /// Empty, or why the matrices are no product, or its types go not together.
  std::string wrong() const;
  uint64_t inner() const { return transpose_a ? a.rows : a.columns; }
  /// Returns the bytes of the parts' sums.
  uint64_t workspaceBytes() const;
  /// Returns the bytes of the bias; 0 without one.
  uint64_t biasBytes() const { return biased ? d.rows * d.elementBytes() : 0; }
  /// `bias` is null without one.
  void multiply(const char *a, const char *b, const char *bias, char *d,
                char *workspace, std::mt19937 &random) const;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_PRODUCT_H
