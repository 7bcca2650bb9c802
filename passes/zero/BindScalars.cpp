//===- BindScalars.cpp - scalars as arguments of programs -----------------===//

#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_BINDSCALARS
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-bind-scalars
//===----------------------------------------------------------------------===//

struct BindScalars : impl::BindScalarsBase<BindScalars> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<nn::ProgramOp>()) {
      if (function.isExternal()) {
        continue;
      }
      Program program(function);
      for (auto scalar :
           llvm::make_early_inc_range(function.getOps<nn::ScalarOp>())) {
        scalar.replaceAllUsesWith(
            program.scalar(scalar.getName(), scalar.getType()));
        scalar.erase();
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
