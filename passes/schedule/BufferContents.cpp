//===- BufferContents.cpp - a slice for what nobody wants elsewhere -------===//

#include "passes/schedule/BufferAssignment.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

/// The reduction that sends the value as a unit's gradients, or null.
static zero::ReduceScatterOp reductionOf(Value value) {
  for (Operation *user : value.getUsers()) {
    auto reduce = dyn_cast<zero::ReduceScatterOp>(user);
    if (reduce && reduce.getFlat() == value) {
      return reduce;
    }
  }
  return {};
}

/// Returns what brings the value, or takes it, as a unit's parameters or the
/// sum of its gradients; or null.
static zero::FetchOp fetchOf(Value value) {
  auto ofUnit = [](Operation *op) {
    auto fetch = dyn_cast_or_null<zero::FetchOp>(op);
    return fetch && fetch.getUnit() ? fetch : zero::FetchOp();
  };
  if (zero::FetchOp fetch = ofUnit(value.getDefiningOp())) {
    return fetch;
  }
  for (Operation *user : value.getUsers()) {
    if (zero::FetchOp fetch = ofUnit(user)) {
      return fetch;
    }
  }
  return {};
}

/// Returns whether it brings a sum of gradients that the host or a file keeps.
static bool bringsGradients(zero::FetchOp fetch) {
  auto argument =
      dyn_cast<BlockArgument>(zero::beforeTransfers(fetch.getOperand()));
  auto program = fetch->getParentOfType<nn::ProgramOp>();
  auto state = argument ? program.getArgAttrOfType<zero::StateAttr>(
                              argument.getArgNumber(), zero::kStateAttr)
                        : zero::StateAttr();
  return state && state.getRole() == zero::kGradRole;
}

/// The state in a file that the value was read from, or else that it is written
/// to; null for none.
static Value inFile(Value value) {
  if (auto read = value.getDefiningOp<zero::ReadOp>()) {
    return read.getOperand();
  }
  for (Operation *user : value.getUsers()) {
    if (auto write = dyn_cast<zero::WriteOp>(user)) {
      return write.getResult();
    }
  }
  return {};
}

/// Returns where a value lies: in pinned memory if it crosses between device
/// and host, or between the host and a file.
Space BufferAssignment::spaceOf(Value value) const {
  bool crosses = isa<zero::OffloadOp, zero::ReadOp>(value.getDefiningOp()) ||
                 llvm::any_of(value.getUsers(), [](Operation *user) {
                   return isa<zero::FetchOp, zero::WriteOp>(user);
                 });
  return !sides.onHost(value) ? Space::device
         : crosses            ? Space::pinned
                              : Space::host;
}

void BufferAssignment::bindDefault(Operation *op, unsigned result) {
  Value value = op->getResult(result);
  SliceClass sliceClass = SliceClass::transient;
  int64_t unit = -1, segment = -1;
  if (auto gather = dyn_cast<zero::AllGatherOp>(op)) {
    sliceClass = SliceClass::gathered;
    unit = gather.getUnit();
    if (gather.getInPlace() &&
        gather.getShards().front().getDefiningOp<zero::ReduceScatterOp>()) {
      sliceClass = SliceClass::grad;
    }
  } else if (auto prefetch = dyn_cast<zero::PrefetchOp>(op)) {
    sliceClass = SliceClass::gathered;
    unit = prefetch.getUnit();
  } else if (auto pack = dyn_cast<zero::PackOp>(op)) {
    sliceClass = SliceClass::grad;
    unit = pack.getUnit();
  } else if (auto reduce = dyn_cast<zero::ReduceScatterOp>(op)) {
    sliceClass = SliceClass::grad_shard;
    unit = reduce.getUnit();
    segment = reduce.getSegment();
  } else if (auto offload = dyn_cast<zero::OffloadOp>(op)) {
    sliceClass =
        offload.getUnit() ? SliceClass::grad_shard : SliceClass::scalar;
    unit = offload.getUnit().value_or(-1);
    segment = offload.getSegment() ? int64_t(*offload.getSegment()) : -1;
  } else if (Value state = inFile(value)) {
    SliceOp file = slices.op(place(state).slice);
    sliceClass = file.getSliceClass();
    unit = int64_t(file.getUnit());
    segment = int64_t(file.getSegment());
  } else if (zero::FetchOp fetch = fetchOf(value)) {
    sliceClass = bringsGradients(fetch) ? SliceClass::grad_shard
                                        : SliceClass::param_shard;
    unit = *fetch.getUnit();
    segment = fetch.getSegment() ? int64_t(*fetch.getSegment()) : -1;
  } else if (zero::ReduceScatterOp sent = reductionOf(value)) {
    sliceClass = SliceClass::grad; // rounded for it
    unit = sent.getUnit();
  } else if (isa<zero::AllReduceOp>(op)) {
    sliceClass = SliceClass::scalar;
  } else if (loss && position(op) <= *loss && lastRead(value) > *loss) {
    sliceClass = SliceClass::activation;
  }
  std::string label = labelOf(op);
  if (op->getNumResults() > 1) {
    label += " #" + std::to_string(result);
  }
  bound[value] = slices.create(label, op->getLoc(), sliceClass, bytesOf(value),
                               unit, segment, spaceOf(value));
}
