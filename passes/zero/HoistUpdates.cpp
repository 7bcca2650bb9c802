//===- HoistUpdates.cpp - states are written as soon as they can be -------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/Passes.h"
#include "llvm/ADT/MapVector.h"

#include <utility>

namespace mlir::zg::zero {

#define GEN_PASS_DEF_HOISTUPDATES
#include "passes/zero/Passes.h.inc"

namespace {

/// Returns whether the result is the operand's bytes, or a part of them, or is
/// read from the file, which can be at any time.
bool isPart(Operation *op) {
  return nn::isView(op) || isa<ViewOp, ShardOp, ReadOp>(op);
}

/// The place of an op: how many ops that stay come before it, and its number
/// among those that are moved there.
using Place = std::pair<unsigned, unsigned>;

int64_t bytesOf(ReduceScatterOp reduce) {
  auto type = cast<RankedTensorType>(reduce.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Returns, by unit, a later reduction, at whose place the unit's own have had
/// time to end. Backward does work as it makes gradients: from the unit to
/// there it makes as many as the unit has, if there are so many.
DenseMap<int64_t, Operation *> overlapped(Block &block) {
  struct Unit {
    int64_t bytes = 0;
    ReduceScatterOp last = {};
  };
  llvm::MapVector<int64_t, Unit> units;
  for (auto reduce : block.getOps<ReduceScatterOp>()) {
    Unit &unit = units[reduce.getUnit()];
    unit.bytes += bytesOf(reduce);
    unit.last = reduce;
  }
  DenseMap<int64_t, Operation *> result;
  for (auto begin = units.begin(); begin != units.end(); ++begin) {
    int64_t left = begin->second.bytes;
    Operation *last = begin->second.last;
    for (auto it = std::next(begin); it != units.end() && left > 0; ++it) {
      left -= it->second.bytes;
      last = it->second.last;
    }
    result[begin->first] = last;
  }
  return result;
}

/// Decides where all ops will stand, and then moves them.
class Updates {
public:
  explicit Updates(nn::ProgramOp program)
      : program(program), overlap(overlapped(program.front())) {
    for (BlockArgument argument : program.getArguments()) {
      if (Attribute state =
              program.getArgAttr(argument.getArgNumber(), kStateAttr)) {
        argumentOf[state] = argument;
      }
    }
    for (Operation &op : program.front()) {
      order.push_back(&op);
      places[&op] = {order.size(), 0};
    }
    moved.resize(order.size() + 1);
  }

  void move() {
    for (Operation *op : order) {
      SmallVector<BlockArgument> replaced;
      if (isa<nn::KernelOp, AllGatherOp, FetchOp, WriteOp>(op) &&
          collectReplaced(op, replaced) && !settled.contains(op)) {
        decide(op, replaced);
      }
    }
    for (auto [index, ops] : llvm::enumerate(moved)) {
      Operation *behind = index ? order[index - 1] : nullptr;
      for (Operation *op : ops) {
        behind ? op->moveAfter(behind)
               : op->moveBefore(&program.front(), program.front().begin());
        behind = op;
      }
    }
    sink();
  }

private:
  /// Puts what is read from a file, and literals, right before the first op
  /// that takes them: memory has them no longer than it must, and users that
  /// have moved find them. (The kernels of a norm stand where its last one
  /// stood.)
  void sink() {
    SmallVector<Operation *> ops;
    for (Operation &op : program.front()) {
      if (isa<ReadOp>(op) || nn::isLiteral(&op)) {
        ops.push_back(&op);
      }
    }
    for (Operation *op : ops) {
      Operation *first = nullptr;
      for (Operation *user : op->getUsers()) {
        first = !first || user->isBeforeInBlock(first) ? user : first;
      }
      if (first) {
        op->moveBefore(first);
      }
    }
  }

  /// The ops that read an argument: all of it or any part, and a rank's own
  /// shard of each segment, which no other segment's update writes.
  struct Readers {
    SmallVector<Operation *> whole;
    DenseMap<int64_t, SmallVector<Operation *>> shards;
  };

  /// Returns whether a result of the op becomes a state, itself, fetched,
  /// gathered or written to the file. Collects the arguments that have
  /// these states, which the program may read.
  bool collectReplaced(Operation *op,
                       SmallVectorImpl<BlockArgument> &replaced) {
    bool any = false;
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      if (isa<nn::ReturnOp>(user)) {
        Attribute state =
            program.getResultAttr(use.getOperandNumber(), kUpdatesAttr);
        any |= bool(state);
        if (BlockArgument argument = argumentOf.lookup(state)) {
          replaced.push_back(argument);
        }
      } else if (isa<AllGatherOp, FetchOp, WriteOp>(user)) {
        any |= collectReplaced(user, replaced);
      }
    }
    return any;
  }

  void decide(Operation *op, ArrayRef<BlockArgument> replaced) {
    Place place = {0, 0};
    SmallVector<int64_t> segments;
    for (Value operand : op->getOperands()) {
      // Data that came down goes to the file at once: nothing waits for that.
      Operation *down =
          isa<WriteOp>(op) ? operand.getDefiningOp<OffloadOp>() : OffloadOp();
      place = std::max(place, down ? places[down] : whenReady(operand));
      if (auto shard = operand.getDefiningOp<ShardOp>()) {
        segments.push_back(shard.getSegment());
      }
    }
    for (BlockArgument argument : replaced) {
      const Readers &all = readersOf(argument);
      place = std::max(place, last(all.whole, /*except=*/op));
      for (int64_t segment : segments) {
        place = std::max(place, last(all.shards.lookup(segment), op));
      }
    }
    if (place < places[op]) {
      put(op, place.first);
    }
  }

  /// Puts an op after op `index`, with the parts that it reads before it, and
  /// the writes of what it gives to the file after it, so that buffers are free
  /// for the next update.
  void put(Operation *op, unsigned index) {
    for (Value operand : op->getOperands()) {
      Operation *part = operand.getDefiningOp();
      if (part && isPart(part) && places[part] > Place(index, ~0u)) {
        put(part, index);
      }
    }
    moved[index].push_back(op);
    places[op] = {index, moved[index].size()};
    for (Operation *user : op->getUsers()) {
      if (isa<WriteOp>(user) && settled.insert(user).second) {
        put(user, index);
      }
    }
  }

  /// Returns the place after which a value is there, without waiting for what
  /// runs beside backward. Parts are made where they are read.
  Place whenReady(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || nn::isLiteral(op)) {
      return {0, 0};
    }
    if (isPart(op)) {
      return whenReady(op->getOperand(0));
    }
    Place place = places[op];
    if (isa<OffloadOp>(op)) {
      return std::max(place, whenReady(op->getOperand(0)));
    }
    if (auto reduce = dyn_cast<ReduceScatterOp>(op)) {
      return std::max(place, places[overlap.lookup(reduce.getUnit())]);
    }
    if (auto fetch = dyn_cast<FetchOp>(op)) {
      return std::max(place, whenFetched(fetch));
    }
    // In stage 0 the sums of other ranks are gathered after the reduction.
    auto gather = dyn_cast<AllGatherOp>(op);
    Value shard = gather ? gather.getShards().back() : Value();
    return shard && shard.getDefiningOp<ReduceScatterOp>()
               ? std::max(place, whenReady(shard))
               : place;
  }

  /// Returns the place at which the host has had time for its update. It begins
  /// when the gradients have come, and has time while as many are reduced
  /// again: reductions do not wait for it.
  Place whenFetched(FetchOp fetch) {
    auto reduce = dyn_cast_or_null<ReduceScatterOp>(
        fetch.getUnit() ? overlap.lookup(*fetch.getUnit()) : nullptr);
    return reduce ? places[overlap.lookup(reduce.getUnit())] : Place(0, 0);
  }

  Place last(ArrayRef<Operation *> readers, Operation *except) {
    Place last = {0, 0};
    for (Operation *reader : readers) {
      if (reader != except) {
        last = std::max(last, places[reader]);
      }
    }
    return last;
  }

  const Readers &readersOf(BlockArgument argument) {
    auto [it, isNew] = readers.try_emplace(argument);
    if (isNew) {
      Readers &all = it->second;
      for (Operation *user : argument.getUsers()) {
        auto shard = dyn_cast<ShardOp>(user);
        collectReaders(user,
                       shard ? all.shards[shard.getSegment()] : all.whole);
      }
    }
    return it->second;
  }

  static void collectReaders(Operation *user,
                             SmallVectorImpl<Operation *> &readers) {
    if (isPart(user) || isa<PrefetchOp>(user)) {
      for (Operation *next : user->getResult(0).getUsers()) {
        collectReaders(next, readers);
      }
    } else if (!isa<nn::ReturnOp>(user)) {
      readers.push_back(user);
    }
  }

  nn::ProgramOp program;
  DenseMap<int64_t, Operation *> overlap;        ///< by unit
  DenseMap<Attribute, BlockArgument> argumentOf; ///< by state
  DenseMap<Value, Readers> readers;              ///< by argument
  DenseSet<Operation *> settled; ///< writes that went with an update
  SmallVector<Operation *> order;
  DenseMap<Operation *, Place> places;
  std::vector<SmallVector<Operation *>> moved; ///< after order[i - 1]
};

//===----------------------------------------------------------------------===//
// --zero-hoist-updates
//===----------------------------------------------------------------------===//

struct HoistUpdates : impl::HoistUpdatesBase<HoistUpdates> {
  void runOnOperation() override {
    if (!getOperation().isExternal()) {
      Updates(getOperation()).move();
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
