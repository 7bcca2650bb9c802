//===- KernelTable.h - one sched.kernel for equal bodies ------------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_KERNELTABLE_H
#define ZEROGRAPH_PASSES_SCHEDULE_KERNELTABLE_H

#include "passes/ir/sched/SchedDialect.h"

#include <unordered_map>

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
  /// Holds the kernels that were made, by a hash of their bodies.
  std::unordered_map<uint64_t, SmallVector<KernelOp, 1>> kernels;
  unsigned count = 0;
};

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_KERNELTABLE_H
