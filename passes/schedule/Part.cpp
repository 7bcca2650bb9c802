//===- Part.cpp - values that lie within others ---------------------------===//

#include "passes/schedule/Part.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

int64_t mlir::zg::sched::bytesOf(Value value) {
  if (auto handle = dyn_cast<zero::HandleType>(value.getType())) {
    return nn::tensorBytes(handle.getResult());
  }
  return nn::tensorBytes(value.getType());
}

int64_t mlir::zg::sched::elementBytesOf(Value value) {
  return nn::elementBytes(
      cast<RankedTensorType>(value.getType()).getElementType());
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
