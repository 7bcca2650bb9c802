//===- EarlyUpdates.cpp - states are written as soon as they can be -------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_EARLYUPDATES
#include "passes/zero/Passes.h.inc"

namespace {

/// Whether the result is the operand's bytes, or a part of them.
bool isPart(Operation *op) {
  return nn::isView(op) || isa<ViewOp, ShardOp>(op);
}

/// Decides by the order before anything is moved, so that each question about
/// the order takes no time.
class Updates {
public:
  explicit Updates(nn::ProgramOp program) : program(program) {
    for (BlockArgument argument : program.getArguments()) {
      if (Attribute state =
              program.getArgAttr(argument.getArgNumber(), kStateAttr)) {
        argumentOf[state] = argument;
      }
    }
    // Behind the next unit's reductions there was time for a unit's own.
    llvm::MapVector<int64_t, ReduceScatterOp> last;
    for (Operation &op : program.front()) {
      positions[&op] = positions.size();
      if (auto reduce = dyn_cast<ReduceScatterOp>(op)) {
        last[reduce.getUnit()] = reduce;
      }
    }
    ReduceScatterOp before;
    for (ReduceScatterOp reduce : llvm::make_second_range(last)) {
      if (before) {
        overlapped[before.getUnit()] = reduce;
      }
      before = reduce;
    }
  }

  void move() {
    for (Operation &op : program.front().without_terminator()) {
      SmallVector<BlockArgument> replaced;
      if (isa<nn::KernelOp, AllGatherOp>(op)) {
        collectReplaced(&op, replaced);
      }
      if (!replaced.empty()) {
        place(&op, replaced);
      }
    }
    for (auto &[place, ops] : moved) {
      Operation *behind = place;
      for (Operation *op : ops) {
        op->moveAfter(behind);
        behind = op;
      }
    }
  }

private:
  /// States that a result of the op becomes, itself or gathered.
  void collectReplaced(Operation *op,
                       SmallVectorImpl<BlockArgument> &replaced) {
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      if (isa<nn::ReturnOp>(user)) {
        if (BlockArgument argument = argumentOf.lookup(
                program.getResultAttr(use.getOperandNumber(), kUpdatesAttr))) {
          replaced.push_back(argument);
        }
      } else if (isa<AllGatherOp>(user)) {
        collectReplaced(user, replaced);
      }
    }
  }

  void place(Operation *op, ArrayRef<BlockArgument> replaced) {
    Operation *place = nullptr;
    for (Value operand : op->getOperands()) {
      place = later(place, whenReady(operand));
    }
    for (BlockArgument argument : replaced) {
      place = later(place, lastReader(argument, /*except=*/op));
    }
    if (!place || positions[place] >= positions[op]) {
      return;
    }
    addParts(op, place);
    moved[place].push_back(op);
    placeOf[op] = place;
  }

  /// Those that the op reads stand in front of it.
  void addParts(Operation *op, Operation *place) {
    for (Value operand : op->getOperands()) {
      Operation *part = operand.getDefiningOp();
      if (part && isPart(part) && positions[part] > positions[place] &&
          placeOf.try_emplace(part, place).second) {
        addParts(part, place);
        moved[place].push_back(part);
      }
    }
  }

  /// The op behind which a value is there, without waiting for what runs beside
  /// backward. Parts are made where they are read.
  Operation *whenReady(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      return nullptr;
    }
    if (Operation *place = placeOf.lookup(op)) {
      return place;
    }
    if (isPart(op)) {
      return whenReady(op->getOperand(0));
    }
    if (auto reduce = dyn_cast<ReduceScatterOp>(op)) {
      return later(reduce, overlapped.lookup(reduce.getUnit()));
    }
    // In stage 0 the sums of other ranks are gathered behind the reduction.
    auto gather = dyn_cast<AllGatherOp>(op);
    Value shard = gather ? gather.getShards().back() : Value();
    return shard && shard.getDefiningOp<ReduceScatterOp>()
               ? later(op, whenReady(shard))
               : op;
  }

  Operation *lastReader(Value value, Operation *except) const {
    Operation *last = nullptr;
    for (Operation *reader : value.getUsers()) {
      if (reader == except || isa<nn::ReturnOp>(reader)) {
        continue;
      }
      if (isPart(reader) || isa<PrefetchOp>(reader)) {
        last = later(last, lastReader(reader->getResult(0), except));
      } else {
        last = later(last, reader);
      }
    }
    return last;
  }

  Operation *later(Operation *a, Operation *b) const {
    return !b || (a && positions.lookup(b) < positions.lookup(a)) ? a : b;
  }

  nn::ProgramOp program;
  DenseMap<Attribute, BlockArgument> argumentOf; ///< by state
  DenseMap<int64_t, ReduceScatterOp> overlapped; ///< by unit
  DenseMap<Operation *, unsigned> positions;
  /// What is to stand behind an op, in order.
  llvm::MapVector<Operation *, SmallVector<Operation *>> moved;
  DenseMap<Operation *, Operation *> placeOf; ///< of those
};

//===----------------------------------------------------------------------===//
// --zero-early-updates
//===----------------------------------------------------------------------===//

struct EarlyUpdates : impl::EarlyUpdatesBase<EarlyUpdates> {
  void runOnOperation() override {
    if (!getOperation().isExternal()) {
      Updates(getOperation()).move();
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
