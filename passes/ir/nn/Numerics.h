//===- Numerics.h - orders that decide bits -------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_NUMERICS_H
#define ZEROGRAPH_PASSES_IR_NN_NUMERICS_H

#include <cstdint>

namespace mlir::zg::nn {

/// Columns of a segment: a reduction over longer rows reduces each segment as a
/// row of its own and then folds them in order, on every device.
inline constexpr int64_t kRowSegment = 4096;

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NUMERICS_H
