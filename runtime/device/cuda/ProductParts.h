//===- ProductParts.h - a product as calls of cuBLASLt --------------------===//
//
// cuBLASLt has its fast kernels for matrices whose rows begin and end at
// multiples of 16 bytes (its manual, "Tensor Core Usage"). Rows that end
// elsewhere, as those of 50,257 logits, take it up to seven times as long. So a
// large product is cut: what ends at such a multiple, and the few rows, columns
// or terms that are left.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_PRODUCTPARTS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_PRODUCTPARTS_H

#include "runtime/plan/Matrices.h"

#include <vector>

namespace zerograph {

/// A product of fewer multiplications takes less time whole than a second call:
/// on an H100 one of left over columns takes 15 to 25 us.
inline constexpr double kWorthCutting = 5e9;

/// Each call multiplies one part.
struct ProductPart {
  plan::Matmul matmul; ///< with the leading dimensions of the whole
  bool adds = false;   ///< to what C has
  /// The element of A, B, C and the bias of the whole with which those of the
  /// part begin.
  uint64_t a = 0, b = 0, c = 0, bias = 0;
};

/// Returns the parts of a product in the order in which they are computed: by
/// its shape, types and leading dimensions alone, the whole where nothing is
/// gained. Batches of products stay whole, as nobody has measured what is left
/// over of many. Terms that are left over come first, so that all others are
/// added to them in the type of the computation: with a C of bf16, only the sum
/// of those few, at most seven of hundreds, is rounded by itself. With a C of
/// f16, in which that sum could overflow, terms stay together. The bias is
/// added with the last terms. `worth`: the multiplications from which on a
/// product is cut.
std::vector<ProductPart> cutProduct(const plan::Matmul &matmul,
                                    double worth = kWorthCutting);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_PRODUCTPARTS_H
