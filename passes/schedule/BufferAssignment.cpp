//===- BufferAssignment.cpp - where the tensors of a program lie ----------===//

#include "passes/schedule/BufferAssignment.h"

#include "passes/ir/nn/Locations.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

std::string mlir::zg::sched::labelOf(Operation *op) {
  if (std::string name = nn::nameOf(op->getLoc()); !name.empty()) {
    return name;
  }
  std::string kind = op->getName().getStringRef().str();
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    bool named = !nn::nameOf(user->getLoc()).empty();
    if (named && (!first || user->isBeforeInBlock(first))) {
      first = user;
    }
  }
  if (first) {
    return kind + " for " + nn::nameOf(first->getLoc());
  }
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (maker && !nn::nameOf(maker->getLoc()).empty()) {
      return kind + " after " + nn::nameOf(maker->getLoc());
    }
  }
  return kind;
}

BufferAssignment::BufferAssignment(nn::ProgramOp function, SliceTable &slices)
    : function(function), slices(slices) {
  for (auto [index, op] : llvm::enumerate(function.front())) {
    positions[&op] = index;
  }
}

Place BufferAssignment::place(Value value) const {
  if (std::optional<Part> part = partOf(value, slices)) {
    Place whole = place(part->whole);
    return whole ? whole.plus(part->offset, part->stride) : whole;
  }
  return bound.lookup(value);
}

Place BufferAssignment::operandPlace(Operation *op, unsigned index) const {
  Place whole = place(op->getResult(0));
  if (auto pack = dyn_cast<zero::PackOp>(op)) {
    return whole.plus(
        pack.getOffsets()[index] * elementBytesOf(pack.getResult()), 0);
  }
  if (auto join = dyn_cast<nn::JoinRowsOp>(op)) {
    int64_t before = 0;
    for (Value part : join.getParts().take_front(index)) {
      before += bytesOf(part);
    }
    return whole.plus(before, 0);
  }
  auto gather = cast<zero::AllGatherOp>(op);
  Part part = shardPart(gather.getResult(), gather.getUnit(), index, slices);
  return whole.plus(part.offset, part.stride);
}

LogicalResult BufferAssignment::assign() {
  findBackward();
  if (failed(bindArguments())) {
    return failure();
  }
  Block &block = function.front();
  auto terminator = dyn_cast<nn::ReturnOp>(block.getTerminator());
  if (!terminator) {
    return block.getTerminator()->emitOpError("does not end a program");
  }
  if (failed(bindResults(terminator))) {
    return failure();
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (failed(bindOp(&op))) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

LogicalResult BufferAssignment::bindArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    Attribute meaning;
    for (StringRef name :
         {StringRef(zero::kStateAttr), StringRef(nn::kInputAttr),
          StringRef(nn::kScalarAttr)}) {
      if (Attribute attribute = function.getArgAttr(index, name)) {
        meaning = attribute;
      }
    }
    if (!meaning) {
      return function.emitError("argument ")
             << index << " of @" << function.getName()
             << " is no state, input or scalar";
    }
    auto type = cast<RankedTensorType>(argument.getType());
    Location location = isa<UnknownLoc>(argument.getLoc()) ? function.getLoc()
                                                           : argument.getLoc();
    Place place = slices.named(meaning, type, location);
    bound[argument] = place;
    replacedIn[place.slice].push_back(argument);
    slices.op(place.slice);
  }
  return success();
}

LogicalResult BufferAssignment::bindResults(nn::ReturnOp op) {
  llvm::DenseSet<Attribute> updated;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    Attribute state = function.getResultAttr(index, zero::kUpdatesAttr);
    if (!state) {
      state = function.getResultAttr(index, zero::kOutputAttr);
    }
    if (!state) {
      return function.emitError("result ")
             << index << " of @" << function.getName()
             << " updates no state and is no output; the plan has no place "
                "for it";
    }
    if (!updated.insert(state).second) {
      return function.emitError("results of @")
             << function.getName() << " update " << state << " twice";
    }
    Place want = slices.named(state, cast<RankedTensorType>(value.getType()),
                              function.getLoc());
    if (slices.bytes(want.slice) != bytesOf(value)) {
      return function.emitError("result ")
             << index << " of @" << function.getName() << " has "
             << bytesOf(value) << " bytes, but " << state << " has "
             << slices.bytes(want.slice);
    }
    resultPlaces.push_back(want);
  }
  for (auto [value, want] : llvm::zip(op.getOperands(), resultPlaces)) {
    if (!value.getDefiningOp<nn::ConstantOp>()) {
      request(value, want, kNever);
    }
  }
  return success();
}

/// Returns the op that makes what `sum` adds to state "loss": a reduction over
/// ranks adds a number, and so does a kernel where there is one rank, unless it
/// is the one that computes the loss.
static Operation *lossBehind(Operation *sum) {
  bool addsNumbers =
      isa<zero::AllReduceOp>(sum) ||
      llvm::all_of(sum->getOperandTypes(), [](Type type) {
        return cast<RankedTensorType>(type).getNumElements() == 1;
      });
  for (Value operand : sum->getOperands()) {
    Operation *maker = nn::stripReshapes(operand).getDefiningOp();
    if (addsNumbers && maker) {
      return maker;
    }
  }
  return sum;
}

void BufferAssignment::findBackward() {
  Operation *terminator = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto state =
        function.getResultAttrOfType<zero::StateAttr>(i, zero::kUpdatesAttr);
    Operation *sum = terminator->getOperand(i).getDefiningOp();
    if (sum && state && state.getRole() == zero::kLossRole) {
      Operation *first = nn::firstOfBackward(function.front(), lossBehind(sum));
      backward = first ? std::optional(position(first)) : std::nullopt;
    }
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Returns an op that reads the bytes of `value` as what they were before `op`
/// reduced a segment of them in place.
Operation *BufferAssignment::laterRead(Value value,
                                       zero::ReduceScatterOp op) const {
  for (Operation *user : value.getUsers()) {
    auto other = dyn_cast<zero::ReduceScatterOp>(user);
    if (isa<zero::ReleaseOp>(user) ||
        (other && other.getSegment() != op.getSegment())) {
      continue;
    }
    bool isPart = !other && user->getNumResults() == 1 &&
                  partOf(user->getResult(0), slices).has_value();
    Operation *reader = isPart ? laterRead(user->getResult(0), op) : user;
    if (reader && position(reader) > position(op)) {
      return reader;
    }
  }
  return nullptr;
}

LogicalResult BufferAssignment::checkOverwrite(zero::ReduceScatterOp op) const {
  Value whole = wholeOf(op.getFlat(), slices);
  if (isa<BlockArgument>(whole)) {
    return op.emitOpError("in place would change an argument of the program");
  }
  if (Operation *reader = laterRead(whole, op)) {
    return (op.emitOpError("in place overwrites what is read later"))
               .attachNote(reader->getLoc())
           << "the read is here";
  }
  return success();
}

LogicalResult BufferAssignment::bindOp(Operation *op) {
  if (isa<nn::ConstantOp, zero::ReleaseOp>(op)) {
    return success();
  }
  if (!nn::isLibraryCall(op) && !nn::sharesBytes(op) &&
      !isa<nn::KernelOp, nn::ReshapeOp, zero::ShardOp, zero::ViewOp,
           zero::PackOp, zero::AllGatherOp, zero::PrefetchOp, zero::AwaitOp,
           zero::ReduceScatterOp, zero::AllReduceOp, zero::OffloadOp,
           zero::FetchOp, zero::ReadOp, zero::WriteOp>(op)) {
    return op->emitOpError("is in no kernel; sched has no step for it");
  }
  if (auto reduce = dyn_cast<zero::ReduceScatterOp>(op)) {
    if (reduce.getInPlace() && failed(checkOverwrite(reduce))) {
      return failure();
    }
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    Value value = op->getResult(i);
    if (!partOf(value, slices) && !bound.contains(value)) {
      bindDefault(op, i);
    }
  }
  bindOperands(op);
  return success();
}
