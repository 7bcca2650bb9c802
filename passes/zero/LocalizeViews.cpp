//===- LocalizeViews.cpp - views of parameters next to their users --------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"
#include "passes/zero/CloneForUses.h"
#include "passes/zero/Passes.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_LOCALIZEVIEWS
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-localize-views
//===----------------------------------------------------------------------===//

struct LocalizeViews : impl::LocalizeViewsBase<LocalizeViews> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      for (BlockArgument argument : program.getArguments()) {
        if (program.getArgAttr(argument.getArgNumber(), nn::kParameterAttr)) {
          localizeUsers(argument);
        }
      }
    }
  }

  /// Gives each use of a view of `value` a view of its own, deepest first.
  void localizeUsers(Value value) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      if (!nn::recastsParameter(user)) {
        continue;
      }
      localizeUsers(user->getResult(0));
      cloned += cloneForUses(user);
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
