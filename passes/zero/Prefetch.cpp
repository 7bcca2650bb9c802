//===- Prefetch.cpp - starts gathers early --------------------------------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_PREFETCH
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-prefetch
//===----------------------------------------------------------------------===//

struct Prefetch : impl::PrefetchBase<Prefetch> {
  using PrefetchBase::PrefetchBase;

  void runOnOperation() override {
    if (prefetch <= 0) {
      return;
    }
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      if (!program.isExternal()) {
        runOnProgram(program.front());
      }
    }
  }

  void runOnProgram(Block &block) {
    SmallVector<Operation *> arrivals; // what gives parameters to others
    for (Operation &op : block) {
      auto gather = dyn_cast<AllGatherOp>(op);
      if (gather ? canStartEarly(gather) : isFetchedWhole(&op)) {
        arrivals.push_back(&op);
      }
    }
    SmallVector<Operation *> begins; // where each is used from
    Operation *lastAtStart = nullptr;
    for (auto [index, op] : llvm::enumerate(arrivals)) {
      OpBuilder builder(op);
      if (static_cast<int64_t>(index) >= prefetch) {
        // Starts after the await, and after what was already started there.
        Operation *anchor = begins[index - prefetch];
        while (isStart(anchor->getNextNode())) {
          anchor = anchor->getNextNode();
        }
        builder.setInsertionPointAfter(anchor);
      } else if (lastAtStart) {
        builder.setInsertionPointAfter(lastAtStart);
      } else {
        builder.setInsertionPointToStart(&block);
      }
      auto [begun, begin] = start(op, builder);
      if (static_cast<int64_t>(index) < prefetch) {
        lastAtStart = begun;
      }
      begins.push_back(begin);
      ++started;
    }
  }

  /// Returns the argument that a value is, perhaps read from the file and
  /// fetched from the host; null for none.
  static BlockArgument stateOf(Value value) {
    while (isa_and_nonnull<FetchOp, ReadOp>(value.getDefiningOp())) {
      value = value.getDefiningOp()->getOperand(0);
    }
    return dyn_cast<BlockArgument>(value);
  }

  /// Returns whether no op of the program writes the shards: only then can they
  /// be read early.
  static bool canStartEarly(AllGatherOp gather) {
    return !gather.getInPlace() &&
           llvm::all_of(gather.getShards(),
                        [](Value shard) { return bool(stateOf(shard)); });
  }

  /// Returns whether one rank brings parameters from the host, to use them.
  static bool isFetchedWhole(Operation *op) {
    auto fetch = dyn_cast<FetchOp>(op);
    return fetch && !fetch->use_empty() && stateOf(fetch.getOperand()) &&
           llvm::none_of(op->getUsers(), [](Operation *user) {
             return isa<AllGatherOp>(user);
           });
  }

  static bool isStart(Operation *op) {
    return isa_and_nonnull<PrefetchOp, FetchOp, ReadOp>(op);
  }

  /// Starts bringing parameters where `builder` stands. Returns the op that
  /// does, and the one after which they are used.
  std::pair<Operation *, Operation *> start(Operation *op, OpBuilder &builder) {
    auto gather = dyn_cast<AllGatherOp>(op);
    if (!gather) {
      Operation *first = *op->user_begin();
      for (Operation *user : op->getUsers()) {
        first = user->isBeforeInBlock(first) ? user : first;
      }
      if (builder.getInsertionPoint() != op->getIterator()) {
        op->moveBefore(op->getBlock(), builder.getInsertionPoint());
      }
      moveReadBefore(op);
      return {op, first};
    }
    auto type = cast<RankedTensorType>(gather.getType());
    auto begun = builder.create<PrefetchOp>(
        op->getLoc(), HandleType::get(&getContext(), type), gather.getShards(),
        gather.getUnit(), gather.getGroup(), gather.getReason(),
        gather.getStayAttr());
    for (Value shard : gather.getShards()) {
      if (Operation *fetch = shard.getDefiningOp()) {
        fetch->moveBefore(begun);
        moveReadBefore(fetch);
      }
    }
    auto await =
        OpBuilder(op).create<AwaitOp>(op->getLoc(), type, begun.getHandle());
    gather.replaceAllUsesWith(await.getResult());
    gather.erase();
    return {begun, await};
  }

  /// Moves what a fetch takes with it, where that is read from the file.
  static void moveReadBefore(Operation *fetch) {
    if (auto read = fetch->getOperand(0).getDefiningOp<ReadOp>()) {
      read->moveBefore(fetch);
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
