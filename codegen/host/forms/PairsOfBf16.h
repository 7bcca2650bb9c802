//===- PairsOfBf16.h - products of numbers of 16 bits, two at a time ------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_PAIRSOFBF16_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_PAIRSOFBF16_H

#include "codegen/emit/Lanes.h"

namespace mlir::zg::host {

using namespace emit;

/// Emits instructions of AVX512-BF16. A pair is an i32 that has the first
/// number in its lower half. Rounding is to nearest even; subnormal numbers
/// become 0.
class PairsOfBf16 {
public:
  explicit PairsOfBf16(Lanes &lanes) : l(lanes) {}

  /// Stores sixteen lanes of f32 as eight pairs of neighbours.
  void storeRow(Value address, Value lanes);
  /// Returns pairs of the lanes of two vectors of f32.
  Value join(Value first, Value second);
  /// Returns `sum`, lanes of f32, plus the products of both halves of pairs,
  /// the lower halves' last (Intel's manual, "VDPBF16PS").
  Value addDot(Value sum, Value left, Value right);

private:
  /// Returns sixteen lanes of f32 as bf16.
  Value round(Value lanes);
  Value call(StringRef intrinsic, Type result, ValueRange operands);

  Lanes &l;
};

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_PAIRSOFBF16_H
