//===- BufferContents.cpp - a slice for what nobody wants elsewhere -------===//

#include "passes/ir/zero/ZeroSpaces.h"
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

/// Returns whether a value, perhaps brought from the host or a file, is
/// gradients: reduced just now, or kept over micro-batches.
static bool isGradients(Value value) {
  Value origin = zero::beforeTransfers(value);
  auto argument = dyn_cast<BlockArgument>(origin);
  if (!argument) {
    return bool(origin.getDefiningOp<zero::ReduceScatterOp>());
  }
  auto program = dyn_cast<nn::ProgramOp>(argument.getOwner()->getParentOp());
  auto state = program ? program.getArgAttrOfType<zero::StateAttr>(
                             argument.getArgNumber(), zero::kStateAttr)
                       : zero::StateAttr();
  return state && state.getRole() == zero::kGradRole;
}

/// Returns whether a value is what the host keeps of the forward pass for the
/// backward pass, or that value come back. `zero-recompute` alone offloads what
/// is fetched again and of no unit.
static bool isKeptOnHost(Value value) {
  auto fetch = value.getDefiningOp<zero::FetchOp>();
  auto offload =
      (fetch ? fetch.getOperand() : value).getDefiningOp<zero::OffloadOp>();
  return offload && !offload.getUnit() &&
         llvm::any_of(offload->getUsers(),
                      [](Operation *op) { return isa<zero::FetchOp>(op); });
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
  return zero::spaceOf(value.getType()) != zero::Space::host ? Space::device
         : crosses                                           ? Space::pinned
                                                             : Space::host;
}

/// The class of a buffer, and what it holds of a unit.
struct BufferAssignment::Use {
  SliceClass sliceClass = SliceClass::transient;
  HeldAttr held = {};
};

/// Returns a segment, or with -1 a unit, or the rank's shard of either: what
/// `value` holds by its size.
HeldAttr BufferAssignment::held(Value value, StringRef role, int64_t unit,
                                int64_t segment) const {
  return slices.held(StringAttr::get(value.getContext(), role), unit, segment,
                     bytesOf(value) / elementBytesOf(value));
}

/// Returns the gradients that a value holds, if a pack places it among a unit's
/// gradients or it is copied to where their sum is kept; else nothing.
HeldAttr BufferAssignment::heldOfGradients(Value value) const {
  for (OpOperand &use : value.getUses()) {
    if (auto pack = dyn_cast<zero::PackOp>(use.getOwner())) {
      return HeldAttr::get(value.getContext(), pack.getUnit(),
                           StringAttr::get(value.getContext(), zero::kGradRole),
                           pack.getOffsets()[use.getOperandNumber()],
                           bytesOf(value) / elementBytesOf(value),
                           /*sharded=*/false);
    }
    auto offload = dyn_cast<zero::OffloadOp>(use.getOwner());
    if (offload && offload.getUnit()) {
      return held(value, zero::kGradRole, *offload.getUnit(),
                  offload.getSegment() ? int64_t(*offload.getSegment()) : -1);
    }
  }
  return {};
}

BufferAssignment::Use BufferAssignment::useOf(Value value) const {
  Operation *op = value.getDefiningOp();
  auto segmentOf = [](auto transfer) {
    return transfer.getSegment() ? int64_t(*transfer.getSegment()) : -1;
  };
  auto gathered = [&](auto gather, bool in_place) -> Use {
    bool gradients = isGradients(gather.getShards().front());
    return {gradients && in_place ? SliceClass::grad : SliceClass::gathered,
            held(value, gradients ? zero::kGradRole : zero::kParamRole,
                 gather.getUnit(), -1)};
  };
  if (auto gather = dyn_cast<zero::AllGatherOp>(op)) {
    return gathered(gather, gather.getInPlace());
  }
  if (auto prefetch = dyn_cast<zero::PrefetchOp>(op)) {
    return gathered(prefetch, false);
  }
  if (auto pack = dyn_cast<zero::PackOp>(op)) {
    return {SliceClass::grad, held(value, zero::kGradRole, pack.getUnit(), -1)};
  }
  if (auto reduce = dyn_cast<zero::ReduceScatterOp>(op)) {
    return {
        SliceClass::grad_shard,
        held(value, zero::kGradRole, reduce.getUnit(), reduce.getSegment())};
  }
  if (isKeptOnHost(value)) {
    return {SliceClass::activation};
  }
  if (auto offload = dyn_cast<zero::OffloadOp>(op)) {
    if (!offload.getUnit()) {
      return {SliceClass::scalar};
    }
    return {
        SliceClass::grad_shard,
        held(value, zero::kGradRole, *offload.getUnit(), segmentOf(offload))};
  }
  if (Value state = inFile(value)) {
    int file = place(state).slice;
    return {slices.sliceClass(file), slices.held(file)};
  }
  if (zero::FetchOp fetch = fetchOf(value)) {
    bool gradients = isGradients(fetch.getOperand());
    return {gradients ? SliceClass::grad_shard : SliceClass::param_shard,
            held(value, gradients ? zero::kGradRole : zero::kParamRole,
                 *fetch.getUnit(), segmentOf(fetch))};
  }
  if (zero::ReduceScatterOp sent = reductionOf(value)) { // rounded for it
    return {SliceClass::grad, held(value, zero::kGradRole, sent.getUnit(), -1)};
  }
  if (isa<zero::AllReduceOp>(op)) {
    return {SliceClass::scalar};
  }
  bool kept =
      backward && position(op) < *backward && lastRead(value) >= *backward;
  return {kept ? SliceClass::activation : SliceClass::transient,
          heldOfGradients(value)};
}

void BufferAssignment::bindDefault(Operation *op, unsigned result) {
  Value value = op->getResult(result);
  Use use = useOf(value);
  std::string label = labelOf(op);
  if (op->getNumResults() > 1) {
    label += " #" + std::to_string(result);
  }
  bound[value] = slices.create(label, op->getLoc(), use.sliceClass,
                               bytesOf(value), use.held, spaceOf(value));
  ownSlices.insert(value);
}

/// Returns whether nothing reads an operand after the kernel, nor on another
/// stream, and its bytes are alone in a slice such as `slice`.
bool BufferAssignment::isDying(Value operand, nn::KernelOp kernel,
                               int slice) const {
  Value whole = wholeOf(operand, slices);
  Operation *producer = whole.getDefiningOp();
  if (!producer || bound.contains(whole) ||
      bytesOf(whole) != slices.bytes(slice) || slices.held(slice) ||
      slices.space(slice) != spaceOf(whole)) {
    return false;
  }
  SmallVector<Reader> readers;
  collectReaders(whole, readers);
  bool alone = llvm::all_of(readers, [&](const Reader &reader) {
    Operation *op = reader.use->getOwner();
    return (isa<nn::KernelOp>(op) || nn::isLibraryCall(op)) &&
           reader.position <= position(kernel);
  });
  if (!alone) {
    return false;
  }
  Use use = useOf(whole);
  return !use.held && use.sliceClass == slices.sliceClass(slice);
}
