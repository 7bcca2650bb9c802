//===- EmitCollectives.cpp - steps that are collectives -------------------===//

#include "passes/schedule/StepEmitter.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

static TypeAttr elementTypeOf(Value value) {
  return TypeAttr::get(
      cast<RankedTensorType>(value.getType()).getElementType());
}

template <typename Op>
void StepEmitter::gather(Op op, Value result) {
  Accesses accesses;
  Place whole = storage.place(result);
  zero::ParamUnitAttr attribute = slices.units()[op.getUnit()];
  bool inPlace = false;
  if constexpr (std::is_same_v<Op, zero::AllGatherOp>) {
    inPlace = op.getInPlace();
  }
  for (auto [index, shard] : llvm::enumerate(op.getShards())) {
    int64_t bytes = bytesOf(shard);
    int64_t segment = bytes * slices.ranks(op.getUnit());
    int64_t element =
        bytes / cast<RankedTensorType>(shard.getType()).getNumElements();
    add(accesses, Mode::read,
        inPlace ? storage.operandPlace(op, index) : storage.place(shard),
        bytes);
    add(accesses, Mode::write,
        whole.plus(zero::segmentOffset(attribute, index) * element, 0),
        segment);
  }
  create<AllGatherOp>(Stream::gather, accesses, label, op.getUnitAttr(),
                      elementTypeOf(op.getShards().front()), op.getGroupAttr(),
                      op.getReasonAttr(),
                      builder.getI64IntegerAttr(sequence++));
}

template void StepEmitter::gather(zero::AllGatherOp op, Value result);
template void StepEmitter::gather(zero::PrefetchOp op, Value result);

LogicalResult StepEmitter::inPlaceGather(zero::AllGatherOp op) {
  for (auto [index, shard] : llvm::enumerate(op.getShards())) {
    if (shard.getDefiningOp<nn::ConstantOp>()) {
      return op.emitOpError("gathers a constant");
    }
    Place want = storage.operandPlace(op, index);
    if (storage.place(shard) != want) {
      copy(storage.place(shard), want, bytesOf(shard), label);
    }
  }
  return success();
}

void StepEmitter::reduceScatter(zero::ReduceScatterOp op) {
  int64_t shardBytes = bytesOf(op.getResult());
  bool anyOrder = target.reducesInAnyOrder();
  int64_t ranks = slices.ranks(op.getUnit());
  int64_t element = nn::elementBytes(elementTypeOf(op.getFlat()).getValue());
  int64_t sent =
      cast<RankedTensorType>(op.getType()).getNumElements() * element;
  int64_t chunk = anyOrder ? sent : std::min(target.exchangeBytes(ranks), sent);
  zero::ParamUnitAttr unit = slices.units()[op.getUnit()];
  Place shard = storage.place(op.getResult());
  if (op.getAccumulator() && storage.place(op.getAccumulator()) != shard) {
    copy(storage.place(op.getAccumulator()), shard, shardBytes, label);
  }
  Accesses accesses;
  add(accesses, Mode::read,
      storage.place(op.getFlat())
          .plus(zero::segmentOffset(unit, op.getSegment()) * element, 0),
      sent * ranks);
  add(accesses, op.getAccumulator() ? Mode::read_write : Mode::write, shard,
      shardBytes);
  if (!anyOrder || op.getAccumulator()) {
    int64_t staging = anyOrder ? chunk : chunk * ranks;
    add(accesses, Mode::write,
        slices.create("staging of " + label, location, SliceClass::staging,
                      staging),
        staging);
  }
  create<ReduceScatterOp>(
      Stream::scatter, accesses, label, builder.getI64IntegerAttr(op.getUnit()),
      builder.getI64IntegerAttr(op.getSegment()),
      op.getAccumulator() ? builder.getUnitAttr() : UnitAttr(),
      anyOrder ? builder.getUnitAttr() : UnitAttr(),
      builder.getI64IntegerAttr(chunk), elementTypeOf(op.getFlat()),
      elementTypeOf(op.getResult()), op.getGroupAttr(), op.getReasonAttr(),
      builder.getI64IntegerAttr(sequence++));
}

void StepEmitter::allReduce(zero::AllReduceOp op) {
  Place sum = storage.place(op.getResult());
  int64_t bytes = bytesOf(op.getResult());
  if (!op.getAccumulator()) {
    fill(sum, bytes, label);
  } else if (storage.place(op.getAccumulator()) != sum) {
    copy(storage.place(op.getAccumulator()), sum, bytes, label);
  }
  Accesses accesses;
  add(accesses, Mode::read, op.getOperand());
  add(accesses, Mode::read_write, sum, bytes);
  if (target.stagesSums()) {
    int64_t staging = bytes * slices.ranks(op.getGroup());
    add(accesses, Mode::write,
        slices.create("staging of " + label, location, SliceClass::staging,
                      staging),
        staging);
  }
  create<AllReduceOp>(
      Stream::scatter, accesses, label, elementTypeOf(op.getResult()),
      elementTypeOf(op.getResult()), op.getGroupAttr(), op.getReasonAttr(),
      builder.getI64IntegerAttr(sequence++));
}
