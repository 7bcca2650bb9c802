//===- Storage.cpp - where the tensors of a program lie -------------------===//

#include "passes/schedule/Storage.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

std::string mlir::zg::sched::labelOf(Operation *op) {
  std::string name = nn::nameOf(op->getLoc());
  return name.empty() ? op->getName().getStringRef().str() : name;
}

Storage::Storage(nn::ProgramOp function, SliceTable &slices)
    : function(function), slices(slices), sides(function) {
  for (auto [index, op] : llvm::enumerate(function.front())) {
    positions[&op] = index;
  }
}

Place Storage::place(Value value) const {
  if (std::optional<Part> part = partOf(value, slices)) {
    Place whole = place(part->whole);
    return whole ? whole.plus(part->offset, part->stride) : whole;
  }
  return bound.lookup(value);
}

Place Storage::operandPlace(Operation *op, unsigned index) const {
  Place whole = place(op->getResult(0));
  if (auto pack = dyn_cast<zero::PackOp>(op)) {
    return whole.plus(
        pack.getOffsets()[index] * elementBytesOf(pack.getResult()), 0);
  }
  auto gather = cast<zero::AllGatherOp>(op);
  Part part = shardPart(gather.getResult(), gather.getUnit(), index, slices);
  return whole.plus(part.offset, part.stride);
}

LogicalResult Storage::assign() {
  findLoss();
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

LogicalResult Storage::bindArguments() {
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
    Place place = slices.named(meaning, type);
    bound[argument] = place;
    replacedIn[place.slice].push_back(argument);
    Location location = isa<UnknownLoc>(argument.getLoc()) ? function.getLoc()
                                                           : argument.getLoc();
    slices.op(place.slice, location);
  }
  return success();
}

LogicalResult Storage::bindResults(nn::ReturnOp op) {
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
    Place want = slices.named(state, cast<RankedTensorType>(value.getType()));
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

/// The op that makes what `sum` adds to state "loss": a reduction over ranks
/// adds a number, and so does a kernel where there is one rank, unless it is
/// the one that computes the loss.
static Operation *lossBehind(Operation *sum) {
  bool addsNumbers =
      isa<zero::AllReduceOp>(sum) ||
      llvm::all_of(sum->getOperandTypes(), [](Type type) {
        return cast<RankedTensorType>(type).getNumElements() == 1;
      });
  for (Value operand : sum->getOperands()) {
    while (operand.getDefiningOp<nn::ReshapeOp>()) {
      operand = operand.getDefiningOp()->getOperand(0);
    }
    if (addsNumbers && operand.getDefiningOp()) {
      return operand.getDefiningOp();
    }
  }
  return sum;
}

void Storage::findLoss() {
  Operation *terminator = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto state =
        function.getResultAttrOfType<zero::StateAttr>(i, zero::kUpdatesAttr);
    Operation *sum = terminator->getOperand(i).getDefiningOp();
    if (sum && state && state.getRole() == zero::kLossRole) {
      loss = position(lossBehind(sum));
    }
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

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

/// What brings the value, or takes it, as a unit's parameters or the sum of its
/// gradients; or null.
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

/// Whether it brings a sum of gradients that the host or a file keeps.
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

/// What crosses between device and host, or between the host and a file, lies
/// in pinned memory.
Space Storage::spaceOf(Value value) const {
  bool crosses = isa<zero::OffloadOp, zero::ReadOp>(value.getDefiningOp()) ||
                 llvm::any_of(value.getUsers(), [](Operation *user) {
                   return isa<zero::FetchOp, zero::WriteOp>(user);
                 });
  return !sides.onHost(value) ? Space::device
         : crosses            ? Space::pinned
                              : Space::host;
}

void Storage::bindDefault(Operation *op, unsigned result) {
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
    SliceOp file = slices.op(place(state).slice, op->getLoc());
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
  bound[value] = slices.create(label, sliceClass, bytesOf(value), unit, segment,
                               spaceOf(value));
}

/// Who reads the bytes of `value` as what they were before `op` reduced a
/// segment of them in place.
Operation *Storage::laterRead(Value value, zero::ReduceScatterOp op) const {
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

LogicalResult Storage::checkOverwrite(zero::ReduceScatterOp op) const {
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

LogicalResult Storage::bindOp(Operation *op) {
  if (isa<nn::ConstantOp, zero::ReleaseOp>(op)) {
    return success();
  }
  if (!nn::isLibraryCall(op) &&
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
