//===- StepEmitter.cpp - the steps of one program -------------------------===//

#include "passes/schedule/StepEmitter.h"

#include "passes/ir/nn/Convolution.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

namespace {

/// Most bytes a peer that one exchange of a reduction moves.

TypeAttr elementTypeOf(Value value) {
  return TypeAttr::get(
      cast<RankedTensorType>(value.getType()).getElementType());
}

bool isZero(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  if (!splat) {
    return false;
  }
  Attribute element = splat.getSplatValue<Attribute>();
  if (auto real = dyn_cast<FloatAttr>(element)) {
    // Fills set bytes to zero, which is +0.0.
    return real.getValue().isPosZero();
  }
  auto integer = dyn_cast<IntegerAttr>(element);
  return integer && integer.getValue().isZero();
}

} // namespace

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void StepEmitter::add(Accesses &accesses, Mode mode, Place place,
                      int64_t bytes) {
  accesses.slices.push_back(slices.op(place.slice, location));
  accesses.ranges.push_back(
      AccessAttr::get(context, mode, place.offset, bytes, place.stride));
}

void StepEmitter::add(Accesses &accesses, Mode mode, Value value) {
  add(accesses, mode, storage.place(value), bytesOf(value));
}

template <typename StepOp, typename... Attributes>
void StepEmitter::create(Stream stream, const Accesses &accesses,
                         StringRef stepLabel, Attributes &&...attributes) {
  builder.create<StepOp>(location, TimepointType::get(context), ValueRange(),
                         accesses.slices, StreamAttr::get(context, stream),
                         builder.getArrayAttr(accesses.ranges),
                         builder.getStringAttr(stepLabel),
                         std::forward<Attributes>(attributes)...);
}

void StepEmitter::copy(Place from, Place to, int64_t bytes,
                       StringRef stepLabel) {
  Accesses accesses;
  add(accesses, Mode::read, from, bytes);
  add(accesses, Mode::write, to, bytes);
  create<CopyOp>(Stream::compute, accesses, stepLabel);
}

void StepEmitter::fill(Place place, int64_t bytes, StringRef stepLabel) {
  Accesses accesses;
  add(accesses, Mode::write, place, bytes);
  create<FillOp>(Stream::compute, accesses, stepLabel);
}

//===----------------------------------------------------------------------===//
// Inputs and scalars
//===----------------------------------------------------------------------===//

/// Inputs, then the scalars that something reads.
static SmallVector<BlockArgument> givenTo(nn::ProgramOp function) {
  SmallVector<BlockArgument> inputs, scalars;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (function.getArgAttr(index, nn::kInputAttr)) {
      inputs.push_back(argument);
    } else if (function.getArgAttr(index, nn::kScalarAttr) &&
               !argument.use_empty()) {
      scalars.push_back(argument);
    }
  }
  llvm::append_range(inputs, scalars);
  return inputs;
}

void StepEmitter::copyIn(nn::ProgramOp function) {
  SmallVector<BlockArgument> given = givenTo(function);
  if (given.empty()) {
    return;
  }
  location = function.getLoc();
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (BlockArgument argument : given) {
    offsets.push_back(bytes);
    bytes = llvm::alignTo(bytes + bytesOf(argument), kSliceAlignment);
  }
  Accesses accesses;
  for (const char *slot : {"slot 0 of ", "slot 1 of "}) {
    Place place = slices.createSlot(slot + program.getName().str(), bytes);
    add(accesses, Mode::read, place, bytes);
  }
  program.getSlotsMutable().assign(accesses.slices);
  for (BlockArgument argument : given) {
    add(accesses, Mode::write, argument);
  }
  create<CopyInOp>(Stream::compute, accesses, "inputs and scalars",
                   builder.getDenseI64ArrayAttr(offsets));
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

LogicalResult StepEmitter::launch(Operation *op) {
  FailureOr<int64_t> scratch = target.kernelScratchBytes(op);
  if (failed(scratch)) {
    return failure();
  }
  FailureOr<Accesses> accesses = computeAccesses(op, *scratch);
  if (failed(accesses)) {
    return failure();
  }
  create<LaunchOp>(Stream::compute, *accesses, label, kernels.intern(op));
  return success();
}

FailureOr<StepEmitter::Accesses> StepEmitter::computeAccesses(Operation *op,
                                                              int64_t scratch) {
  Accesses accesses;
  for (Value operand : op->getOperands()) {
    if (operand.getDefiningOp<nn::ConstantOp>()) {
      return op->emitOpError("reads a constant that is in no kernel");
    }
    add(accesses, Mode::read, operand);
  }
  for (Value result : op->getResults()) {
    add(accesses, Mode::write, result);
  }
  if (scratch > 0) {
    add(accesses, Mode::write,
        slices.create("scratch of " + label, SliceClass::staging, scratch),
        scratch);
  }
  return accesses;
}

LogicalResult StepEmitter::matmul(nn::MatmulOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  if (!target.hasMatmul(lhs.getElementType())) {
    return launch(op);
  }
  int64_t rank = type.getRank();
  MatmulShape shape;
  shape.elementType = lhs.getElementType();
  if (type.getElementType() != shape.elementType) {
    shape.resultType = type.getElementType();
  }
  for (int64_t size : type.getShape().drop_back(2)) {
    shape.batch *= size;
  }
  shape.m = type.getDimSize(rank - 2);
  shape.n = type.getDimSize(rank - 1);
  shape.k = lhs.getDimSize(op.getTransposeA() ? rank - 2 : rank - 1);
  shape.transposeA = op.getTransposeA();
  shape.transposeB = op.getTransposeB();

  std::string error;
  FailureOr<int64_t> scratch = target.matmulScratchBytes(shape, error);
  if (failed(scratch)) {
    return op.emitOpError("is refused by the library: ") << error;
  }
  FailureOr<Accesses> accesses = computeAccesses(op, *scratch);
  if (failed(accesses)) {
    return failure();
  }
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto flag = [&](bool set) {
    return set ? builder.getUnitAttr() : UnitAttr();
  };
  create<MatmulOp>(
      Stream::compute, *accesses, label, TypeAttr::get(shape.elementType),
      shape.resultType ? TypeAttr::get(shape.resultType) : TypeAttr(),
      number(shape.batch), number(shape.m), number(shape.n), number(shape.k),
      flag(shape.transposeA), flag(shape.transposeB));
  return success();
}

LogicalResult StepEmitter::convolution(nn::ConvolutionOp op) {
  nn::Convolution shape(op);
  std::string error;
  FailureOr<int64_t> scratch = target.convolutionScratchBytes(shape, error);
  if (failed(scratch)) {
    return op.emitOpError("is refused by the library: ") << error;
  }
  FailureOr<Accesses> accesses = computeAccesses(op, *scratch);
  if (failed(accesses)) {
    return failure();
  }
  create<ConvolutionOp>(
      Stream::compute, *accesses, label, op.getKindAttr(), op.getStridesAttr(),
      op.getLowAttr(), op.getDilationsAttr(), op.getGroupsAttr(),
      TypeAttr::get(op.getLhs().getType()),
      TypeAttr::get(op.getRhs().getType()), TypeAttr::get(op.getType()));
  return success();
}

LogicalResult StepEmitter::pack(zero::PackOp op) {
  Place flat = storage.place(op.getResult());
  int64_t element =
      nn::elementBytes(cast<RankedTensorType>(op.getType()).getElementType());
  int64_t covered = 0; // bytes from the beginning
  // Padding of what lives across programs is zero from the beginning.
  bool kept = slices.isCarried(flat.slice);
  auto fillUpTo = [&](int64_t end) {
    if (covered < end && !kept) {
      fill(flat.plus(covered, 0), end - covered, "padding of " + label);
    }
  };
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    bool zero = isZero(operand);
    if (zero && !kept) {
      continue; // filled with the gap it leaves
    }
    if (!zero && operand.getDefiningOp<nn::ConstantOp>()) {
      return op.emitOpError("packs a constant other than zero");
    }
    int64_t begin = op.getOffsets()[index] * element;
    fillUpTo(begin);
    covered = begin + bytesOf(operand);
    if (zero) {
      fill(flat.plus(begin, 0), bytesOf(operand), label);
      continue;
    }
    Place want = storage.operandPlace(op, index);
    if (storage.place(operand) != want) {
      copy(storage.place(operand), want, bytesOf(operand), label);
    }
  }
  fillUpTo(bytesOf(op.getResult()));
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

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
        slices.create("staging of " + label, SliceClass::staging, staging,
                      op.getUnit(), op.getSegment()),
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
        slices.create("staging of " + label, SliceClass::staging, staging),
        staging);
  }
  create<AllReduceOp>(
      Stream::scatter, accesses, label, elementTypeOf(op.getResult()),
      elementTypeOf(op.getResult()), op.getGroupAttr(), op.getReasonAttr(),
      builder.getI64IntegerAttr(sequence++));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What could not be computed where it is kept is copied there. States that
/// are copied from are copied from first.
LogicalResult StepEmitter::finish(nn::ReturnOp op) {
  struct Move {
    Place from, to;
    int64_t bytes;
  };
  SmallVector<Move> fromStates, others;
  SmallVector<std::pair<Place, int64_t>> fills;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    Place to = storage.resultPlace(index);
    if (isZero(value)) {
      fills.push_back({to, bytesOf(value)});
    } else if (value.getDefiningOp<nn::ConstantOp>()) {
      return op.emitOpError("result ")
             << index << " is a constant other than zero";
    } else if (Place from = storage.place(value); from != to) {
      (slices.isCarried(from.slice) ? fromStates : others)
          .push_back({from, to, bytesOf(value)});
    }
  }
  for (const Move &a : fromStates) {
    for (const Move &b : fromStates) {
      if (a.from.slice == b.to.slice) {
        return op.emitOpError("states exchange their values; what is kept in '")
               << slices.op(b.to.slice, location).getLabel()
               << "' would be lost";
      }
    }
  }
  auto nameOf = [&](Place place) {
    return slices.op(place.slice, location).getLabel();
  };
  for (const Move &move : llvm::concat<const Move>(fromStates, others)) {
    copy(move.from, move.to, move.bytes, nameOf(move.to));
  }
  for (auto [place, bytes] : fills) {
    fill(place, bytes, nameOf(place));
  }
  return success();
}

LogicalResult StepEmitter::emit(Operation *op) {
  location = op->getLoc();
  label = labelOf(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](nn::KernelOp op) { return launch(op); })
      .Case([&](nn::MatmulOp op) { return matmul(op); })
      .Case([&](nn::ConvolutionOp op) { return convolution(op); })
      .Case([&](zero::PackOp op) { return pack(op); })
      .Case([&](zero::AllGatherOp op) {
        if (op.getInPlace() && failed(inPlaceGather(op))) {
          return failure();
        }
        gather(op, op.getResult());
        return success();
      })
      .Case([&](zero::PrefetchOp op) {
        gather(op, op.getHandle());
        return success();
      })
      .Case([&](zero::ReduceScatterOp op) {
        reduceScatter(op);
        return success();
      })
      .Case([&](zero::AllReduceOp op) {
        allReduce(op);
        return success();
      })
      .Case([&](nn::ReturnOp op) { return finish(op); })
      .Default(success());
}
