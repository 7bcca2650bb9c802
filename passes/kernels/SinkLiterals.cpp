//===- SinkLiterals.cpp - constants where they are first used -------------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {

#define GEN_PASS_DEF_SINKLITERALS
#include "passes/kernels/Passes.h.inc"

namespace {

/// The first op of `block` that reads `op`, perhaps in a region; null if none.
Operation *firstUser(Operation *op, Block *block) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *here = block->findAncestorOpInBlock(*user);
    if (here && (!first || here->isBeforeInBlock(first))) {
      first = here;
    }
  }
  return first;
}

//===----------------------------------------------------------------------===//
// --nn-sink-literals
//===----------------------------------------------------------------------===//

struct SinkLiterals : impl::SinkLiteralsBase<SinkLiterals> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      // All are found before any is moved: the block's order is numbered once.
      SmallVector<std::pair<Operation *, Operation *>> moves;
      for (Operation &op : block) {
        Operation *user = isLiteral(&op) ? firstUser(&op, &block) : nullptr;
        if (user) {
          moves.emplace_back(&op, user);
        }
      }
      for (auto [literal, user] : moves) {
        literal->moveBefore(user);
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::nn
