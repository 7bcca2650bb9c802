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
    // Only shards that no op of the program writes can be read early.
    SmallVector<AllGatherOp> gathers;
    for (auto op : block.getOps<AllGatherOp>()) {
      if (!op.getInPlace() && llvm::all_of(op.getShards(), [](Value shard) {
            return isa<BlockArgument>(shard);
          })) {
        gathers.push_back(op);
      }
    }
    SmallVector<Operation *> awaits;
    Operation *lastAtStart = nullptr;
    for (auto [index, op] : llvm::enumerate(gathers)) {
      OpBuilder builder(op);
      if (static_cast<int64_t>(index) >= prefetch) {
        // After the await, and after what was already started there.
        Operation *anchor = awaits[index - prefetch];
        while (isa_and_nonnull<PrefetchOp>(anchor->getNextNode())) {
          anchor = anchor->getNextNode();
        }
        builder.setInsertionPointAfter(anchor);
      } else if (lastAtStart) {
        builder.setInsertionPointAfter(lastAtStart);
      } else {
        builder.setInsertionPointToStart(&block);
      }
      auto type = cast<RankedTensorType>(op.getType());
      auto begun = builder.create<PrefetchOp>(
          op.getLoc(), HandleType::get(&getContext(), type), op.getShards(),
          op.getUnit(), op.getGroup(), op.getReason(), op.getStayAttr());
      if (static_cast<int64_t>(index) < prefetch) {
        lastAtStart = begun;
      }
      builder.setInsertionPoint(op);
      auto await =
          builder.create<AwaitOp>(op.getLoc(), type, begun.getHandle());
      op.replaceAllUsesWith(await.getResult());
      op.erase();
      awaits.push_back(await);
      ++started;
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
