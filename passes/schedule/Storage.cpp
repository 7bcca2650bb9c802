//===- Storage.cpp - where the tensors of a program lie -------------------===//

#include "passes/schedule/Storage.h"

#include "passes/schedule/InPlace.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

namespace {

constexpr unsigned kNever = ~0u;

int64_t bytesOf(Value value) {
  if (auto handle = dyn_cast<zero::HandleType>(value.getType())) {
    return nn::tensorBytes(handle.getResult());
  }
  return nn::tensorBytes(value.getType());
}

int64_t elementBytesOf(Value value) {
  return nn::elementBytes(
      cast<RankedTensorType>(value.getType()).getElementType());
}

/// This rank's part of a segment of a unit's flat buffer.
Part shardPart(Value flat, int64_t unit, int64_t segment,
               const SliceTable &slices) {
  zero::ParamUnitAttr attribute = slices.units()[unit];
  int64_t element = elementBytesOf(flat);
  return {flat, zero::segmentOffset(attribute, segment) * element,
          attribute.getSegments()[segment] / slices.world() * element};
}

} // namespace

std::string mlir::zg::sched::labelOf(Operation *op) {
  std::string name = nn::nameOf(op->getLoc());
  return name.empty() ? op->getName().getStringRef().str() : name;
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

Storage::Storage(func::FuncOp function, SliceTable &slices)
    : function(function), slices(slices) {
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
  auto terminator = dyn_cast<func::ReturnOp>(block.getTerminator());
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
    Place place = slices.carried(meaning, type);
    bound[argument] = place;
    Location location = isa<UnknownLoc>(argument.getLoc()) ? function.getLoc()
                                                           : argument.getLoc();
    slices.op(place.slice, location);
  }
  return success();
}

LogicalResult Storage::bindResults(func::ReturnOp op) {
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
    Place want = slices.carried(state, cast<RankedTensorType>(value.getType()));
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

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

void Storage::collectReaders(Value value,
                             SmallVectorImpl<Reader> &readers) const {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<zero::ReleaseOp>(user)) {
      continue;
    }
    if (isa<func::ReturnOp>(user)) {
      // A value that stays where it is needs no read.
      if (place(value) != resultPlaces[use.getOperandNumber()]) {
        readers.push_back({position(user), &use});
      }
      continue;
    }
    bool isPart = user->getNumResults() == 1 &&
                  partOf(user->getResult(0), slices).has_value();
    if (isPart) {
      collectReaders(user->getResult(0), readers);
    }
    if (!isPart || isa<zero::ReduceScatterOp>(user)) {
      readers.push_back({position(user), &use});
    }
  }
}

unsigned Storage::lastRead(Value value) const {
  SmallVector<Reader> readers;
  collectReaders(value, readers);
  unsigned last = 0;
  for (const Reader &reader : readers) {
    last = std::max(last, reader.position);
  }
  return last;
}

unsigned Storage::firstOverwrite(Value value) const {
  unsigned first = kNever;
  for (Operation *user : value.getUsers()) {
    if (auto reduce = dyn_cast<zero::ReduceScatterOp>(user)) {
      if (reduce.getInPlace()) {
        first = std::min(first, position(user));
      }
    } else if (isa<nn::ReshapeOp>(user)) {
      first = std::min(first, firstOverwrite(user->getResult(0)));
    }
  }
  return first;
}

/// The loss is what the reduction of state "loss" adds to it.
void Storage::findLoss() {
  Operation *terminator = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto state =
        function.getResultAttrOfType<zero::StateAttr>(i, zero::kUpdatesAttr);
    if (!state || state.getRole() != zero::kLossRole) {
      continue;
    }
    auto reduce = terminator->getOperand(i).getDefiningOp<zero::AllReduceOp>();
    Value value = reduce ? reduce.getOperand() : Value();
    while (value && value.getDefiningOp<nn::ReshapeOp>()) {
      value = value.getDefiningOp()->getOperand(0);
    }
    if (value && value.getDefiningOp()) {
      loss = position(value.getDefiningOp());
    }
  }
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// Whether writing `value` to `want` spares every old value of a state there
/// that is still read.
bool Storage::keepsOldValues(Value value, Place want) {
  if (!slices.isCarried(want.slice)) {
    return true;
  }
  Operation *producer = value.getDefiningOp();
  unsigned written = position(producer);
  int64_t world = slices.world();
  auto endOf = [&](Place place, int64_t bytes) {
    return place.offset + (world - 1) * place.stride + bytes;
  };
  for (BlockArgument argument : function.getArguments()) {
    if (bound.lookup(argument).slice != want.slice) {
      continue;
    }
    SmallVector<Reader> readers;
    collectReaders(argument, readers);
    for (const Reader &reader : readers) {
      Place read = place(reader.use->get());
      int64_t bytes = bytesOf(reader.use->get());
      if (reader.position < written ||
          read.offset >= endOf(want, bytesOf(value)) ||
          want.offset >= endOf(read, bytes)) {
        continue;
      }
      if (reader.position > written) {
        return false;
      }
      // The producer reads the bytes that it writes.
      if (isa<zero::ReduceScatterOp, zero::AllReduceOp>(producer)) {
        // Its accumulator may lie there and nothing else.
        if (reader.use->getOperandNumber() != 1 || read != want) {
          return false;
        }
      } else if (isa<zero::AllGatherOp>(producer)) {
        if (!cast<zero::AllGatherOp>(producer).getInPlace()) {
          return false;
        }
      } else {
        auto kernel = dyn_cast<nn::KernelOp>(producer);
        if (!kernel || read != want ||
            !canShareStorage(kernel, reader.use->getOperandNumber(),
                             cast<OpResult>(value).getResultNumber())) {
          return false;
        }
      }
    }
  }
  return true;
}

/// Asks that `value` lie at `want`, whose bytes something else overwrites at
/// position `overwritten`.
bool Storage::request(Value value, Place want, unsigned overwritten) {
  while (std::optional<Part> part = partOf(value, slices)) {
    // A flat buffer is not placed by one of its views.
    if (!isa<nn::ReshapeOp, zero::ReduceScatterOp>(value.getDefiningOp())) {
      return place(value) == want;
    }
    want = want.plus(-part->offset, -part->stride);
    value = part->whole;
  }
  if (Place place = bound.lookup(value)) {
    return place == want;
  }
  Operation *producer = value.getDefiningOp();
  if (want.offset < 0 || want.stride < 0 ||
      want.offset + (slices.world() - 1) * want.stride + bytesOf(value) >
          slices.bytes(want.slice) ||
      !(nn::isLibraryCall(producer) ||
        isa<nn::KernelOp, zero::PackOp, zero::AllGatherOp,
            zero::ReduceScatterOp, zero::AllReduceOp>(producer))) {
    return false;
  }
  if (overwritten != kNever && lastRead(value) > overwritten) {
    return false;
  }
  if (!keepsOldValues(value, want)) {
    return false;
  }
  bound[value] = want;
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

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
  } else if (isa<zero::AllReduceOp>(op)) {
    sliceClass = SliceClass::scalar;
  } else if (loss && position(op) <= *loss && lastRead(value) > *loss) {
    sliceClass = SliceClass::activation;
  }
  std::string label = labelOf(op);
  if (op->getNumResults() > 1) {
    label += " #" + std::to_string(result);
  }
  bound[value] =
      slices.create(label, sliceClass, bytesOf(value), unit, segment);
}

/// The value whose bytes `value` has or lies in.
Value Storage::wholeOf(Value value) const {
  while (std::optional<Part> part = partOf(value, slices)) {
    value = part->whole;
  }
  return value;
}

/// Asks that the table which a kernel adds into lie where its result does.
void Storage::bindTable(nn::KernelOp kernel) {
  OpOperand *table = tableOperand(kernel);
  if (!table) {
    return;
  }
  Value whole = wholeOf(table->get());
  for (OpOperand &operand : kernel->getOpOperands()) {
    // What is read while the result is written must not be the table.
    if (&operand != table && wholeOf(operand.get()) == whole) {
      return;
    }
  }
  request(table->get(), place(kernel.getResult(0)), position(kernel));
}

/// Asks for the places in which the op wants its operands.
void Storage::bindOperands(Operation *op) {
  if (auto kernel = dyn_cast<nn::KernelOp>(op)) {
    bindTable(kernel);
  }
  auto gather = dyn_cast<zero::AllGatherOp>(op);
  if (isa<zero::PackOp>(op) || (gather && gather.getInPlace())) {
    unsigned overwritten = firstOverwrite(op->getResult(0));
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (!operand.getDefiningOp<nn::ConstantOp>()) {
        request(operand, operandPlace(op, index), overwritten);
      }
    }
  }
}

/// Nothing may read the bytes later as what they were.
LogicalResult Storage::checkOverwrite(zero::ReduceScatterOp op) const {
  Value flat = op.getFlat();
  if (isa<BlockArgument>(flat)) {
    return op.emitOpError("in place would change an argument of the program");
  }
  for (Operation *user : flat.getUsers()) {
    auto other = dyn_cast<zero::ReduceScatterOp>(user);
    bool spared = isa<zero::ReleaseOp>(user) ||
                  (other && other.getSegment() != op.getSegment());
    if (!spared && position(user) > position(op)) {
      return (op.emitOpError("in place overwrites what is read later"))
                 .attachNote(user->getLoc())
             << "the read is here";
    }
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
           zero::ReduceScatterOp, zero::AllReduceOp>(op)) {
    return op->emitOpError("is in no kernel; sched has no step for it");
  }
  if (auto reduce = dyn_cast<zero::AllReduceOp>(op)) {
    if (static_cast<int64_t>(reduce.getUnit()) >= 0) {
      return op->emitOpError("of a unit; run zero-expand-all-reduce before");
    }
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
