//===- Passes.h - from tensors to steps on streams ------------------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_PASSES_H
#define ZEROGRAPH_PASSES_SCHEDULE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/analysis/TargetInfo.h"
#include "passes/ir/sched/SchedDialect.h"

namespace mlir::zg::sched {

#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"

/// `sched-lower`, asking `target`, which outlives the pass, for parts and
/// workspaces.
std::unique_ptr<Pass>
createLowerToSched(const TargetInfo &target = plainTarget());

#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_PASSES_H
