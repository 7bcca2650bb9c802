//===- ElideCopies.cpp - copies that are the same bytes become reshapes ---===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/View.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_ELIDECOPIES
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;

namespace {

/// Returns whether something writes into the buffer after it was made, itself
/// or under another shape.
bool isOverwritten(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto reduce = dyn_cast<zero::ReduceScatterOp>(user);
    return (reduce && reduce.getInPlace()) ||
           (isa<nn::ReshapeOp>(user) && isOverwritten(user->getResult(0)));
  });
}

/// The buffer whose elements the kernel copies as they lie, if it does nothing
/// else and the buffer stays as it is for as long as anything reads it. So do
/// the results of kernels and library calls; a unit's flat buffer is released,
/// and a state is updated.
Value copiedBuffer(nn::KernelOp kernel) {
  if (kernel.getNumResults() != 1) {
    return {};
  }
  Operation *yield = kernel.getBody().front().getTerminator();
  FailureOr<View> view = composeView(yield->getOperand(0));
  if (failed(view) || !isWhole(*view)) {
    return {};
  }
  // Not what the kernel computes or fills in.
  auto argument = dyn_cast<BlockArgument>(view->base);
  if (!argument) {
    return {};
  }
  Value buffer = nn::stripReshapes(kernel.getOperand(argument.getArgNumber()));
  Operation *producer = buffer.getDefiningOp();
  bool stays = producer &&
               (isa<nn::KernelOp>(producer) || nn::isLibraryCall(producer)) &&
               !isOverwritten(buffer);
  return stays ? buffer : Value();
}

struct ElideCopiesPass : nn::impl::ElideCopiesBase<ElideCopiesPass> {
  void runOnOperation() override {
    // Not the statistic alone: LLVM may be built without.
    unsigned count = 0;
    getOperation().walk([&](nn::KernelOp kernel) {
      Value buffer = copiedBuffer(kernel);
      if (!buffer) {
        return;
      }
      Type type = kernel.getResult(0).getType();
      if (buffer.getType() != type) {
        buffer = OpBuilder(kernel).create<nn::ReshapeOp>(kernel.getLoc(), type,
                                                         buffer);
      }
      kernel.getResult(0).replaceAllUsesWith(buffer);
      kernel.erase();
      ++count;
    });
    elided += count;
    if (count == 0) {
      markAllAnalysesPreserved();
    }
  }
};

} // namespace
