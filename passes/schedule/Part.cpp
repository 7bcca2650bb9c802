//===- Part.cpp - values that lie within others ---------------------------===//

#include "passes/schedule/Part.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

/// Returns the type of a value, or of what a handle will give.
static RankedTensorType tensorOf(Value value) {
  auto handle = dyn_cast<zero::HandleType>(value.getType());
  return cast<RankedTensorType>(handle ? handle.getResult() : value.getType());
}

int64_t mlir::zg::sched::bytesOf(Value value) {
  return nn::tensorBytes(tensorOf(value));
}

int64_t mlir::zg::sched::elementBytesOf(Value value) {
  return nn::elementBytes(tensorOf(value).getElementType());
}

Part mlir::zg::sched::shardPart(Value flat, int64_t unit, int64_t segment,
                                const SliceTable &slices) {
  zero::ParamUnitAttr attribute = slices.units()[unit];
  int64_t element = elementBytesOf(flat);
  return {flat, zero::segmentOffset(attribute, segment) * element,
          attribute.getSegments()[segment] / slices.ranks(unit) * element};
}

std::optional<Part> mlir::zg::sched::partOf(Value value,
                                            const SliceTable &slices) {
  Operation *op = value.getDefiningOp();
  if (auto reshape = dyn_cast_or_null<nn::ReshapeOp>(op)) {
    return Part{reshape.getOperand()};
  }
  if (auto rows = dyn_cast_or_null<nn::TakeRowsOp>(op)) {
    int64_t row = bytesOf(value) / rows.getType().getDimSize(0);
    return Part{rows.getOperand(), int64_t(rows.getFirst()) * row};
  }
  if (auto view = dyn_cast_or_null<zero::ViewOp>(op)) {
    return Part{view.getFlat(),
                static_cast<int64_t>(view.getOffset()) * elementBytesOf(value)};
  }
  if (auto shard = dyn_cast_or_null<zero::ShardOp>(op)) {
    return shardPart(shard.getFlat(), shard.getUnit(), shard.getSegment(),
                     slices);
  }
  if (auto await = dyn_cast_or_null<zero::AwaitOp>(op)) {
    return Part{await.getHandle()};
  }
  if (auto reduce = dyn_cast_or_null<zero::ReduceScatterOp>(op)) {
    if (reduce.getInPlace()) {
      return shardPart(reduce.getFlat(), reduce.getUnit(), reduce.getSegment(),
                       slices);
    }
  }
  return std::nullopt;
}

Value mlir::zg::sched::wholeOf(Value value, const SliceTable &slices) {
  while (std::optional<Part> part = partOf(value, slices)) {
    value = part->whole;
  }
  return value;
}
