//===- CloneForUses.h - an op of its own for each use ---------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_CLONEFORUSES_H
#define ZEROGRAPH_PASSES_ZERO_CLONEFORUSES_H

#include "mlir/IR/Builders.h"

namespace mlir::zg::zero {

/// Gives each use of the result of an op a clone of the op, right before its
/// user, and erases the op. Returns how many clones it made.
inline int64_t cloneForUses(Operation *op) {
  int64_t clones = 0;
  for (OpOperand &use :
       llvm::make_early_inc_range(op->getResult(0).getUses())) {
    OpBuilder builder(use.getOwner());
    use.set(builder.clone(*op)->getResult(0));
    ++clones;
  }
  op->erase();
  return clones;
}

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_CLONEFORUSES_H
