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

/// Elements whose squares are added up as one row before they enter an exact
/// sum. Parameters begin, and shards end, at a multiple of it.
inline constexpr int64_t kSquareBlock = 256;

/// An exact sum, of `nn.sum_squares`: limb i counts multiples of
/// 2^(kLimbBits * i - kLimbsBegin), each less than the next limb's; one limb
/// more counts blocks that are not finite. Sums of up to 2^33 blocks' limbs are
/// whole numbers below 2^53. This is the accumulator of U. Kulisch (Computer
/// Arithmetic and Validity, chapter 8), with limbs that need no carries.
inline constexpr int64_t kLimbs = 32;
inline constexpr int kLimbBits = 20;
inline constexpr int kLimbsBegin = 320;
inline constexpr int64_t kMostSquares = (int64_t(1) << 33) * kSquareBlock;

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NUMERICS_H
