//===- Convolution.h - a convolution, as a GPU's library does it ----------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CONVOLUTION_H
#define ZEROGRAPH_TESTS_EMULATOR_CONVOLUTION_H

#include "tests/emulator/Elements.h"

#include <random>
#include <string>
#include <vector>

namespace zerograph::emulator {

/// Input x, weights w and output y, dense; one of them is computed from the
/// others.
struct Convolution {
  using Sizes = std::vector<int64_t>;
  /// How an element's products are added up.
  enum class Sums {
    Plain,    ///< one after the other
    Halves,   ///< every second one apart, in the workspace
    AnyOrder, ///< as Halves, but a draw decides which product is in which
    Rough     ///< one after the other, of operands rounded to 11 bits
  };

  int result = 2;                   ///< 0: x, 1: w, 2: y
  cudaDataType_t type = CUDA_R_32F; ///< sums are of f32 or, of f64, of that
  Sizes tensors[3];                 ///< x, w and y
  int64_t ids[3] = {}, alignments[3] = {};
  Sizes strides, low, high, dilations;

  /// Empty, or why the tensors are no convolution.
  std::string wrong() const;
  uint64_t bytes(int tensor) const;
  /// Returns the bytes of the sums of `Halves`.
  uint64_t workspaceBytes() const;
  /// Tells them apart.
  std::string text() const;

  void compute(Sums sums, char *const (&memory)[3], char *workspace,
               std::mt19937 &random) const;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CONVOLUTION_H
