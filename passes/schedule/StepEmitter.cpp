//===- StepEmitter.cpp - the steps of one program -------------------------===//

#include "passes/schedule/StepEmitter.h"

#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void StepEmitter::add(Accesses &accesses, Mode mode, Place place,
                      int64_t bytes) {
  accesses.slices.push_back(slices.op(place.slice));
  accesses.ranges.push_back(
      AccessAttr::get(context, mode, place.offset, bytes, place.stride));
}

void StepEmitter::add(Accesses &accesses, Mode mode, Value value) {
  add(accesses, mode, storage.place(value), bytesOf(value));
}

Stream StepEmitter::streamOf(Place place) const {
  return slices.space(place.slice) == Space::device ? Stream::compute
                                                    : Stream::update;
}

Stream StepEmitter::streamOf(Place from, Place to) const {
  if (slices.space(from.slice) == Space::nvme) {
    return Stream::read;
  }
  if (slices.space(to.slice) == Space::nvme) {
    return Stream::write;
  }
  Stream source = streamOf(from), target = streamOf(to);
  return source == target            ? source
         : source == Stream::compute ? Stream::offload
                                     : Stream::fetch;
}

void StepEmitter::copy(Place from, Place to, int64_t bytes, StringRef stepLabel,
                       StringAttr reason) {
  Accesses accesses;
  add(accesses, Mode::read, from, bytes);
  add(accesses, Mode::write, to, bytes);
  create<CopyOp>(streamOf(from, to), accesses, stepLabel, reason);
}

void StepEmitter::fill(Place place, int64_t bytes, StringRef stepLabel) {
  Accesses accesses;
  add(accesses, Mode::write, place, bytes);
  create<FillOp>(streamOf(place), accesses, stepLabel);
}

/// Between device and host, by way of pinned memory.
template <typename Op>
void StepEmitter::transfer(Op op) {
  int64_t bytes = bytesOf(op.getResult());
  Place from = storage.place(op.getOperand());
  if (slices.space(from.slice) == Space::host) {
    HeldAttr held = slices.held(from.slice);
    Place pinned = slices.create(label, location,
                                 held ? slices.sliceClass(from.slice)
                                      : SliceClass::transient,
                                 bytes, held, Space::pinned);
    copy(from, pinned, bytes, label);
    from = pinned;
  }
  copy(from, storage.place(op.getResult()), bytes, label, op.getReasonAttr());
}

/// Named as the state.
void StepEmitter::read(zero::ReadOp op) {
  Place from = storage.place(op.getOperand());
  copy(from, storage.place(op.getResult()), bytesOf(op.getResult()),
       slices.op(from.slice).getLabel(), op.getReasonAttr());
}

void StepEmitter::write(zero::WriteOp op) {
  Place to = storage.place(op.getResult());
  int64_t bytes = bytesOf(op.getResult());
  Place from;
  if (nn::isZeroBytes(op.getOperand())) {
    from = slices.create(label, location, SliceClass::transient, bytes, {},
                         Space::pinned);
    fill(from, bytes, label);
  } else {
    from = storage.place(op.getOperand());
  }
  copy(from, to, bytes, slices.op(to.slice).getLabel(), op.getReasonAttr());
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
    Place place =
        slices.createSlot(slot + program.getName().str(), location, bytes);
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
// Packs and results
//===----------------------------------------------------------------------===//

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
    bool zero = nn::isZeroBytes(operand);
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

/// Copies the rows that could not be made where they belong.
void StepEmitter::join(nn::JoinRowsOp op) {
  for (auto [index, part] : llvm::enumerate(op.getParts())) {
    Place want = storage.operandPlace(op, index);
    if (storage.place(part) != want) {
      copy(storage.place(part), want, bytesOf(part), label);
    }
  }
}

/// Copies what could not be computed where it is kept to there. States that are
/// copied from are copied from first.
LogicalResult StepEmitter::finish(nn::ReturnOp op) {
  struct Move {
    Place from, to;
    int64_t bytes;
  };
  SmallVector<Move> fromStates, others;
  SmallVector<std::pair<Place, int64_t>> fills;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    Place to = storage.resultPlace(index);
    if (nn::isZeroBytes(value)) {
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
               << slices.op(b.to.slice).getLabel() << "' would be lost";
      }
    }
  }
  auto nameOf = [&](Place place) { return slices.op(place.slice).getLabel(); };
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
      .Case([&](nn::JoinRowsOp op) {
        join(op);
        return success();
      })
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
      .Case<zero::OffloadOp, zero::FetchOp>([&](auto op) {
        transfer(op);
        return success();
      })
      .Case([&](zero::ReadOp op) {
        read(op);
        return success();
      })
      .Case([&](zero::WriteOp op) {
        write(op);
        return success();
      })
      .Case([&](nn::ReturnOp op) { return finish(op); })
      .Default(success());
}
