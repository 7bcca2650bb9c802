//===- Passes.h - places for slices ---------------------------------------===//

#ifndef ZEROGRAPH_PASSES_MEMORY_PASSES_H
#define ZEROGRAPH_PASSES_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/ir/sched/SchedDialect.h"

namespace mlir::zg::sched {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/memory/Passes.h.inc"

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_MEMORY_PASSES_H
