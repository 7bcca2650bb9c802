//===- MatrixRegisters.h - products of bf16 by AMX ------------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_MATRIXREGISTERS_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_MATRIXREGISTERS_H

#include "codegen/host/forms/HostBody.h"

namespace mlir::zg::host {

/// Emits instructions of AMX, whose eight registers have sixteen rows of 64
/// bytes each: 16 f32, or 16 pairs of bf16. A pair is an i32 that has the first
/// number in its lower half. A register is named by its number.
class MatrixRegisters {
public:
  /// Counts the rows of a register, and its columns of 32 bits.
  static constexpr int64_t kSide = 16;

  explicit MatrixRegisters(HostBody &body) : body(body), l(body.lanes) {}

  /// Says how large all registers are; before their first use in a call.
  void configure();
  /// Leaves them; at the end of a call.
  void release();
  /// Loads or stores rows of 64 bytes, which lie `apart` bytes apart.
  void load(int64_t number, Value address, int64_t apart);
  void store(int64_t number, Value address, int64_t apart);
  /// Adds to `sums`, of f32, rows of pairs times columns of pairs. An element
  /// has the chain of the first numbers of the pairs, and that of the second
  /// numbers, added up from 0 on, and gets the sum of both (Intel's manual,
  /// "TDPBF16PS"). Subnormal numbers are 0.
  void addProduct(int64_t sums, int64_t rows, int64_t columns);

private:
  void call(StringRef intrinsic, ValueRange operands);
  Value numberOf(int64_t number);

  HostBody &body;
  Lanes &l;
};

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_MATRIXREGISTERS_H
