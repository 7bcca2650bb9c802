//===- Part.h - values that lie within others -----------------------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_PART_H
#define ZEROGRAPH_PASSES_SCHEDULE_PART_H

#include "passes/schedule/SliceTable.h"

namespace mlir::zg::sched {

/// A value that lies within another: a reshape, some rows, a view, shard or
/// await, or the result of an in-place reduction.
struct Part {
  Value whole;
  int64_t offset = 0; // bytes
  int64_t stride = 0; // bytes a rank
};
/// Nothing where the value has bytes of its own.
std::optional<Part> partOf(Value value, const SliceTable &slices);
/// The value whose bytes `value` has or lies in.
Value wholeOf(Value value, const SliceTable &slices);
/// This rank's part of a segment of a unit's flat buffer.
Part shardPart(Value flat, int64_t unit, int64_t segment,
               const SliceTable &slices);

/// Return the bytes of a tensor, or of what a handle will give.
int64_t bytesOf(Value value);
int64_t elementBytesOf(Value value);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_PART_H
