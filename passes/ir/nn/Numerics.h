//===- Numerics.h - orders that decide bits -------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_NUMERICS_H
#define ZEROGRAPH_PASSES_IR_NN_NUMERICS_H

#include <cstdint>

namespace mlir::zg::nn {

/// Partial results of a reduction over the columns of a row: column c goes into
/// number c mod kRowChains.
inline constexpr int64_t kRowChains = 64;

/// Columns of a segment: a reduction over longer rows reduces each segment as a
/// row of its own and then folds them in order, on every device.
inline constexpr int64_t kRowSegment = 4096;

/// Rows that a reduction over rows adds up before it adds their sum to the
/// total: the error of a long sum grows with the square root of its length
/// rather than its length.
inline constexpr int64_t kRowBlock = 64;

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NUMERICS_H
