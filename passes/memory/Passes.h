//===- Passes.h - places for slices ---------------------------------------===//

#ifndef ZEROGRAPH_PASSES_MEMORY_PASSES_H
#define ZEROGRAPH_PASSES_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/ir/sched/SchedDialect.h"

namespace mlir::zg::sched {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/memory/Passes.h.inc"

/// Returns the bytes of a packed module's arenas in some spaces.
int64_t arenaBytes(ModuleOp module, ArrayRef<Space> spaces);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_MEMORY_PASSES_H
