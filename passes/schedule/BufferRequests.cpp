//===- BufferRequests.cpp - who lies where its reader wants it ------------===//

#include "passes/ir/nn/Queries.h"
#include "passes/schedule/BufferAssignment.h"
#include "passes/schedule/InPlace.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

void BufferAssignment::collectReaders(Value value,
                                      SmallVectorImpl<Reader> &readers) const {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<zero::ReleaseOp>(user)) {
      continue;
    }
    if (isa<nn::ReturnOp>(user)) {
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

unsigned BufferAssignment::lastRead(Value value) const {
  SmallVector<Reader> readers;
  collectReaders(value, readers);
  unsigned last = 0;
  for (const Reader &reader : readers) {
    last = std::max(last, reader.position);
  }
  return last;
}

unsigned BufferAssignment::firstOverwrite(Value value) const {
  auto known = overwrites.find(value);
  unsigned first = known == overwrites.end() ? kNever : known->second;
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

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// Returns whether writing `value` to `want` spares every old value of a state
/// there that is still read.
bool BufferAssignment::keepsOldValues(Value value, Place want) {
  Operation *producer = value.getDefiningOp();
  unsigned written = position(producer);
  int64_t world = slices.world();
  auto endOf = [&](Place place, int64_t bytes) {
    return place.offset + (world - 1) * place.stride + bytes;
  };
  for (Value old : replacedIn.lookup(want.slice)) {
    SmallVector<Reader> readers;
    collectReaders(old, readers);
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
        if (read != want ||
            !canShareStorage(producer, reader.use->getOperandNumber(),
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
bool BufferAssignment::request(Value value, Place want, unsigned overwritten) {
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
        isa<nn::KernelOp, nn::JoinRowsOp, zero::PackOp, zero::AllGatherOp,
            zero::ReduceScatterOp, zero::AllReduceOp, zero::OffloadOp,
            zero::FetchOp, zero::WriteOp>(producer))) {
    return false;
  }
  // The device writes to no other memory of the host's.
  if (isa<zero::OffloadOp>(producer) &&
      slices.space(want.slice) != Space::pinned) {
    return false;
  }
  if (overwritten != kNever && lastRead(value) > overwritten) {
    return false;
  }
  if (!keepsOldValues(value, want)) {
    return false;
  }
  bound[value] = want;
  overwrites[value] = overwritten;
  return true;
}

/// Asks that an operand lie where a result of its op does; false if it does
/// not.
bool BufferAssignment::bindShared(OpOperand &shared, OpResult result) {
  Operation *op = shared.getOwner();
  Value whole = wholeOf(shared.get(), slices);
  for (OpOperand &operand : op->getOpOperands()) {
    // An operand that is read while the result is written lies elsewhere.
    if (&operand != &shared && wholeOf(operand.get(), slices) == whole) {
      return false;
    }
  }
  return request(shared.get(), place(result), position(op));
}

/// Asks that an operand that is read for the last time lie where a result is
/// written, if the kernel may write there and the result is nowhere else.
void BufferAssignment::bindDying(nn::KernelOp kernel) {
  for (OpResult result : kernel->getResults()) {
    if (!ownSlices.contains(result)) {
      continue;
    }
    for (OpOperand &operand : kernel->getOpOperands()) {
      if (canShareStorage(kernel, operand.getOperandNumber(),
                          result.getResultNumber()) &&
          isDying(operand.get(), kernel, place(result).slice) &&
          bindShared(operand, result)) {
        ownSlices.insert(wholeOf(operand.get(), slices));
        break;
      }
    }
  }
}

/// Asks that what is written to a file be made where the state that it replaces
/// was read to, for the host and not for the device.
void BufferAssignment::bindBuffer(zero::WriteOp write) {
  if (nn::isZeroBytes(write.getOperand())) {
    return;
  }
  Place file = place(write.getResult());
  for (Value old : replacedIn.lookup(file.slice)) {
    for (Operation *user : old.getUsers()) {
      auto read = dyn_cast<zero::ReadOp>(user);
      bool updates = read && !llvm::all_of(read->getUsers(), [](Operation *op) {
                       return isa<zero::FetchOp>(op);
                     });
      if (updates && place(old) == file && position(read) < position(write)) {
        bindDefault(read, 0);
        Place buffer = place(read.getResult());
        replacedIn[buffer.slice].push_back(read.getResult());
        request(write.getOperand(), buffer, kNever);
        return;
      }
    }
  }
}

/// Asks for the places in which the op wants its operands.
void BufferAssignment::bindOperands(Operation *op) {
  if (auto write = dyn_cast<zero::WriteOp>(op)) {
    bindBuffer(write);
  }
  if (OpOperand *shared = sharedOperand(op)) {
    bindShared(*shared, op->getResult(0));
  }
  if (auto kernel = dyn_cast<nn::KernelOp>(op)) {
    bindDying(kernel);
  }
  // Adds to what the host or a file brings where it arrives.
  auto reduce = dyn_cast<zero::ReduceScatterOp>(op);
  if (reduce && reduce.getAccumulator() && !reduce.getInPlace()) {
    request(reduce.getAccumulator(), place(reduce.getResult()), position(op));
  }
  auto gather = dyn_cast<zero::AllGatherOp>(op);
  if (isa<zero::PackOp, nn::JoinRowsOp>(op) ||
      (gather && gather.getInPlace())) {
    unsigned overwritten = firstOverwrite(op->getResult(0));
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (!operand.getDefiningOp<nn::ConstantOp>()) {
        request(operand, operandPlace(op, index), overwritten);
      }
    }
  }
}
