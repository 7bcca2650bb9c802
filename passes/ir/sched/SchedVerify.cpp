//===- SchedVerify.cpp - verifiers of the ops of the sched dialect --------===//

#include "passes/ir/nn/Convolution.h"
#include "passes/ir/sched/SchedDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

LogicalResult sched::detail::verifyStep(Operation *op) {
  auto step = cast<Step>(op);
  if (step.getSlices().size() != step.getAccesses().size()) {
    return op->emitOpError("has ") << step.getSlices().size() << " slices but "
                                   << step.getAccesses().size() << " accesses";
  }
  int64_t world = worldOf(op);
  for (unsigned i = 0; i < step.getSlices().size(); ++i) {
    SliceOp slice = step.slice(i);
    if (!slice) {
      return op->emitOpError("access ") << i << " is not of a sched.slice";
    }
    AccessAttr access = step.access(i);
    if (access.getOffset() < 0 || access.getBytes() <= 0 ||
        access.getRankStride() < 0) {
      return op->emitOpError("access ")
             << i << " of '" << slice.getLabel() << "' is empty or negative";
    }
    if (access.end(world) > static_cast<int64_t>(slice.getBytes())) {
      return op->emitOpError("access ")
             << i << " ends at byte " << access.end(world) << " of '"
             << slice.getLabel() << "', which has " << slice.getBytes();
    }
  }
  for (Value timepoint : step.getAwaits()) {
    auto awaited = timepoint.getDefiningOp<Step>();
    if (!awaited || awaited->getBlock() != op->getBlock() ||
        !awaited->isBeforeInBlock(op)) {
      return op->emitOpError("awaits what is not an earlier step of the same "
                             "program");
    }
    if (awaited.getStream() == step.getStream()) {
      return (op->emitOpError("awaits a step of its own stream ")
              << stringifyStream(step.getStream()))
                 .attachNote(awaited->getLoc())
             << "which is in order anyway";
    }
  }
  return success();
}

namespace {

/// Checks the modes of a step's accesses against `expected`.
LogicalResult verifyModes(Step step, ArrayRef<Mode> expected) {
  if (step.getAccesses().size() != expected.size()) {
    return step->emitOpError("needs ")
           << expected.size() << " accesses, not " << step.getAccesses().size();
  }
  for (auto [index, mode] : llvm::enumerate(expected)) {
    if (step.access(index).getMode() != mode) {
      return step->emitOpError("access ")
             << index << " must be " << stringifyMode(mode) << ", not "
             << stringifyMode(step.access(index).getMode());
    }
  }
  return success();
}

/// Checks the modes of all accesses and, where there is one more, of scratch.
LogicalResult verifyScratchModes(Step step, SmallVector<Mode> modes) {
  if (step.getAccesses().size() == modes.size() + 1) {
    modes.push_back(Mode::write);
  }
  return verifyModes(step, modes);
}

/// Operands, results and, where there is one access more, scratch.
LogicalResult verifyComputeModes(Step step, unsigned operands,
                                 unsigned results) {
  SmallVector<Mode> modes(operands, Mode::read);
  modes.append(results, Mode::write);
  return verifyScratchModes(step, modes);
}

LogicalResult verifyBytes(Step step, unsigned index, int64_t bytes,
                          StringRef what) {
  if (step.access(index).getBytes() != bytes) {
    return step->emitOpError("access ")
           << index << " has " << step.access(index).getBytes()
           << " bytes, but " << what << " has " << bytes;
  }
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

LogicalResult sched::SliceOp::verify() {
  if (static_cast<int64_t>(getBytes()) <= 0) {
    return emitOpError("'") << getLabel() << "' has no bytes";
  }
  if (getOffset() && static_cast<int64_t>(*getOffset()) < 0) {
    return emitOpError("'") << getLabel() << "' lies at a negative offset";
  }
  if (getLifetime() &&
      (getLifetime()->empty() || getLifetime()->size() % 2 != 0)) {
    return emitOpError("'")
           << getLabel() << "' must be live from one step to another";
  }
  int meanings = getState().has_value() + getInput().has_value() +
                 getOutput().has_value() + getScalar().has_value();
  if (meanings > 1) {
    return emitOpError("'")
           << getLabel()
           << "' is more than one of state, input, output and scalar";
  }
  if (meanings == 1 && !getTensor()) {
    return emitOpError("'") << getLabel() << "' needs to have a tensor type";
  }
  bool arrives = getInput() || getScalar();
  if (arrives && getCarried()) {
    return emitOpError("'")
           << getLabel() << "' arrives anew in each program, and is carried";
  }
  if (meanings == 1 && !arrives && !getCarried()) {
    return emitOpError("'")
           << getLabel() << "' outlives programs, and is not carried";
  }
  if (std::optional<HeldAttr> held = getHolds();
      held && (held->getUnit() < 0 || getState() || held->getBegin() < 0 ||
               held->getElements() <= 0)) {
    return emitOpError("'")
           << getLabel() << "' must hold elements of a unit, and be no state";
  }
  return success();
}

LogicalResult sched::KernelOp::verify() {
  Block &block = getBody().front();
  if (!llvm::hasSingleElement(block) ||
      !isa<nn::KernelOp, nn::MatmulOp>(block.front())) {
    return emitOpError("must hold one nn.kernel or nn.matmul");
  }
  if (!llvm::equal(block.front().getOperands(), block.getArguments())) {
    return emitOpError("must have the operands of its op as arguments");
  }
  return success();
}

LogicalResult ProgramOp::verify() {
  if (!getSlots().empty() && getSlots().size() != 2) {
    return emitOpError("has ") << getSlots().size() << " slots, not two";
  }
  for (Value value : getSlots()) {
    auto slot = value.getDefiningOp<SliceOp>();
    if (!slot || !slot.getCarried() || slot.getSpace() != Space::pinned) {
      return emitOpError(
          "has a slot that is no carried slice in pinned memory");
    }
    uint64_t bytes = getSlots()[0].getDefiningOp<SliceOp>().getBytes();
    if (slot.getBytes() != bytes) {
      return emitOpError("has slots of ")
             << bytes << " and " << slot.getBytes() << " bytes";
    }
  }
  if (getBody().front().getNumArguments() != 0) {
    return emitOpError("has block arguments");
  }
  for (Operation &op : getBody().front()) {
    if (!isa<Step>(op)) {
      return op.emitOpError("is not a step, but stands in a sched.program");
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<sched::KernelOp>(*this, getKernelAttr());
  if (!kernel) {
    return emitOpError("launches ")
           << getKernelAttr() << ", which is no kernel";
  }
  // The kernel's own verifier may not have run yet.
  Block &block = kernel.getBody().front();
  if (!llvm::hasSingleElement(block)) {
    return success();
  }
  Operation &body = block.front();
  Step step = *this;
  if (failed(verifyComputeModes(step, body.getNumOperands(),
                                body.getNumResults()))) {
    return failure();
  }
  SmallVector<Type> types(body.getOperandTypes());
  llvm::append_range(types, body.getResultTypes());
  for (auto [index, type] : llvm::enumerate(types)) {
    if (failed(verifyBytes(step, index, nn::tensorBytes(type),
                           "the kernel's buffer"))) {
      return failure();
    }
  }
  return success();
}

LogicalResult sched::ConvolutionOp::verify() {
  if (!isa<RankedTensorType>(getLhs()) || !isa<RankedTensorType>(getRhs()) ||
      !isa<RankedTensorType>(getResult())) {
    return emitOpError("needs tensor types");
  }
  nn::Convolution convolution(getKind(), getLhs(), getRhs(), getResult(),
                              getStrides(), getLow(), getDilations(),
                              getGroups());
  if (failed(convolution.verify(*this))) {
    return failure();
  }
  Step step = *this;
  if (failed(verifyComputeModes(step, 2, 1)) ||
      failed(verifyBytes(step, 0, nn::tensorBytes(getLhs()), "the left")) ||
      failed(verifyBytes(step, 1, nn::tensorBytes(getRhs()), "the right")) ||
      failed(
          verifyBytes(step, 2, nn::tensorBytes(getResult()), "the result"))) {
    return failure();
  }
  return success();
}

LogicalResult sched::MatmulOp::verify() {
  int64_t batch = getBatch(), m = getM(), n = getN(), k = getK();
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) {
    return emitOpError("has an empty size");
  }
  Step step = *this;
  int64_t element = nn::elementBytes(getElementType());
  int64_t sum = nn::elementBytes(getResultType().value_or(getElementType()));
  auto verifyMatrix = [&](int64_t index, StringRef name, int64_t rows,
                          int64_t columns, std::optional<uint64_t> leading,
                          int64_t bytes) -> LogicalResult {
    int64_t apart = leading.value_or(columns);
    if (apart < columns) {
      return emitOpError("has rows of ") << columns << " elements in " << name
                                         << ", only " << apart << " apart";
    }
    return verifyBytes(step, index, batch * rows * apart * bytes, name);
  };
  auto [aRows, aColumns] = getTransposeA() ? std::pair(k, m) : std::pair(m, k);
  auto [bRows, bColumns] = getTransposeB() ? std::pair(n, k) : std::pair(k, n);
  SmallVector<Mode> modes = {Mode::read, Mode::read,
                             getAccumulate() ? Mode::read_write : Mode::write};
  if (getBias()) {
    if (getAccumulate()) {
      return emitOpError("adds to what C has, and so takes no bias");
    }
    modes.push_back(Mode::read);
  }
  return success(
      succeeded(verifyScratchModes(step, modes)) &&
      succeeded(verifyMatrix(0, "A", aRows, aColumns, getLda(), element)) &&
      succeeded(verifyMatrix(1, "B", bRows, bColumns, getLdb(), element)) &&
      succeeded(verifyMatrix(2, "C", m, n, getLdc(), sum)) &&
      (!getBias() || succeeded(verifyBytes(step, 3, n * sum, "the bias"))));
}

/// Ranks that take part in a collective; fails, with a diagnostic, where the
/// mesh lacks an axis.
static FailureOr<int64_t> ranksOf(Collective op) {
  FailureOr<int64_t> ranks = zero::meshOf(op).ranks(op.getGroup());
  if (failed(ranks)) {
    return op->emitOpError("goes over axes ")
           << op.getGroup() << ", not all of them in the mesh "
           << zero::meshOf(op);
  }
  return ranks;
}

LogicalResult sched::AllGatherOp::verify() {
  FailureOr<int64_t> ranks = ranksOf(*this);
  if (failed(ranks)) {
    return failure();
  }
  Step step = *this;
  unsigned count = getAccesses().size();
  if (count == 0 || count % 2 != 0) {
    return emitOpError("needs two accesses a segment, not ")
           << count << " in all";
  }
  SmallVector<Mode> modes;
  for (unsigned i = 0; i < count; i += 2) {
    modes.append({Mode::read, Mode::write});
  }
  if (failed(verifyModes(step, modes))) {
    return failure();
  }
  for (unsigned i = 0; i < count; i += 2) {
    if (failed(verifyBytes(step, i + 1, step.access(i).getBytes() * *ranks,
                           "the segment of its shard"))) {
      return failure();
    }
  }
  return success();
}

LogicalResult sched::ReduceScatterOp::verify() {
  Step step = *this;
  Mode shard = getAccumulate() ? Mode::read_write : Mode::write;
  FailureOr<int64_t> ranks = ranksOf(*this);
  SmallVector<Mode> modes = {Mode::read, shard};
  if (!getAnyOrder() || getAccumulate()) {
    modes.push_back(Mode::write);
  }
  int64_t wire = nn::elementBytes(getWire());
  int64_t sent =
      step.access(1).getBytes() / nn::elementBytes(getAccumulator()) * wire;
  if (failed(ranks) || failed(verifyModes(step, modes)) ||
      failed(verifyBytes(step, 0, sent * *ranks, "the segment of its shard"))) {
    return failure();
  }
  int64_t chunk = getChunkBytes();
  if (getAnyOrder() && chunk != step.access(1).getBytes()) {
    return emitOpError("with any_order has a chunk of ")
           << chunk << " bytes, not of its shard's "
           << step.access(1).getBytes();
  }
  if (modes.size() < 3) {
    return success();
  }
  return getAnyOrder()
             ? verifyBytes(step, 2, chunk, "one chunk")
             : verifyBytes(step, 2, chunk * *ranks, "one chunk a rank");
}

LogicalResult sched::AllReduceOp::verify() {
  FailureOr<int64_t> ranks = ranksOf(*this);
  if (failed(ranks)) {
    return failure();
  }
  Step step = *this;
  unsigned count = getAccesses().size();
  if (count < 2) {
    return emitOpError("needs pairs of accesses, not ") << count << " in all";
  }
  SmallVector<Mode> modes;
  for (unsigned i = 0; i + 1 < count; i += 2) {
    modes.append({Mode::read, Mode::read_write});
  }
  if (count % 2 != 0) {
    modes.push_back(Mode::write);
  }
  if (failed(verifyModes(step, modes))) {
    return failure();
  }
  int64_t bytes = 0;
  for (unsigned i = 0; i + 1 < count; i += 2) {
    if (failed(verifyBytes(step, i + 1, step.access(i).getBytes(),
                           "what is added to it"))) {
      return failure();
    }
    bytes += step.access(i).getBytes();
  }
  return count % 2 == 0 ? success()
                        : verifyBytes(step, count - 1, bytes * *ranks,
                                      "every rank's values together");
}

LogicalResult CopyOp::verify() {
  Step step = *this;
  if (failed(verifyModes(step, {Mode::read, Mode::write}))) {
    return failure();
  }
  return verifyBytes(step, 1, step.access(0).getBytes(), "the source");
}

LogicalResult FillOp::verify() { return verifyModes(*this, {Mode::write}); }

LogicalResult CopyInOp::verify() {
  Step step = *this;
  SmallVector<Mode> modes{Mode::read, Mode::read};
  modes.append(getOffsets().size(), Mode::write);
  if (failed(verifyModes(step, modes))) {
    return failure();
  }
  auto program = cast<ProgramOp>((*this)->getParentOp());
  if (!llvm::equal(getSlices().take_front(2), program.getSlots())) {
    return emitOpError("does not read the slots of @") << program.getName();
  }
  int64_t end = 0;
  for (auto [index, offset] : llvm::enumerate(getOffsets())) {
    SliceOp to = step.slice(index + 2);
    if (!to.getInput() && !to.getScalar()) {
      return emitOpError("writes '")
             << to.getLabel() << "', which is no input or scalar";
    }
    if (failed(verifyBytes(step, index + 2, to.getBytes(), "the slice"))) {
      return failure();
    }
    if (offset % kSliceAlignment != 0 || offset < end) {
      return emitOpError("copies '")
             << to.getLabel() << "' from " << offset
             << ", not a multiple of 64 after what is before it";
    }
    end = offset + to.getBytes();
  }
  if (end > step.access(0).getBytes()) {
    return emitOpError("copies ")
           << end << " bytes of a slot of " << step.access(0).getBytes();
  }
  return success();
}
