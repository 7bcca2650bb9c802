//===- SplitSides.cpp - each side makes its own of literals ---------------===//

#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroSides.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_SPLITSIDES
#include "passes/zero/Passes.h.inc"

namespace {

/// Copies ops from the end of a program to its beginning, so that what a copy
/// is made of is copied too.
class Splitter {
public:
  explicit Splitter(nn::ProgramOp program)
      : block(program.front()), sides(program) {}

  int64_t run() {
    for (Operation &op : llvm::make_early_inc_range(
             llvm::reverse(block.without_terminator()))) {
      if (isMadeOfLiterals(&op)) {
        split(&op);
      }
    }
    return copies.size();
  }

private:
  /// Returns whether the op lies on no side and is no literal itself: kernels
  /// make those where they need them.
  bool isMadeOfLiterals(Operation *op) const {
    return op->getNumResults() > 0 && !nn::isLiteral(op) &&
           llvm::all_of(op->getResults(), [&](Value result) {
             return sides.of(result) == Side::None;
           });
  }

  bool isHosts(Operation *user) const {
    return sides.onHost(user) || copies.contains(user) ||
           isa<FetchOp, WriteOp>(user);
  }

  void split(Operation *op) {
    auto isOfHost = [&](OpOperand &use) { return isHosts(use.getOwner()); };
    auto uses = op->getUses();
    if (llvm::all_of(uses, isOfHost) || llvm::none_of(uses, isOfHost)) {
      return;
    }
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    op->replaceUsesWithIf(copy, isOfHost);
    copies.insert(copy);
  }

  Block &block;
  Sides sides; // of the program as it was
  DenseSet<Operation *> copies;
};

//===----------------------------------------------------------------------===//
// --zero-split-sides
//===----------------------------------------------------------------------===//

struct SplitSides : impl::SplitSidesBase<SplitSides> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      if (!program.isExternal()) {
        copied += Splitter(program).run();
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
