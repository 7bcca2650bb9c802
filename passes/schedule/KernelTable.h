//===- KernelTable.h - one sched.kernel for equal bodies ------------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_KERNELTABLE_H
#define ZEROGRAPH_PASSES_SCHEDULE_KERNELTABLE_H

#include "passes/ir/sched/SchedDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::zg::sched {

/// Makes the kernels of a module.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : module(module) {}

  /// The kernel that does what `op`, an nn.kernel or nn.matmul, does: the
  /// device's, or the host's that helps it.
  FlatSymbolRefAttr intern(Operation *op);

private:
  ModuleOp module;
  /// By the text of the body, which has neither locations nor the names of
  /// operands.
  llvm::StringMap<FlatSymbolRefAttr> kernels;
};

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_KERNELTABLE_H
