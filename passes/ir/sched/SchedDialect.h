//===- SchedDialect.h - the sched dialect: its ops and attributes ---------===//

#ifndef ZEROGRAPH_PASSES_IR_SCHED_SCHEDDIALECT_H
#define ZEROGRAPH_PASSES_IR_SCHED_SCHEDDIALECT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"

#include "passes/ir/sched/SchedDialect.h.inc"
#include "passes/ir/sched/SchedEnums.h.inc"

namespace mlir::zg::sched {
using zero::getMaxEnumValForSpace;
using zero::Space;
using zero::SpaceAttr;
using zero::stringifySpace;
} // namespace mlir::zg::sched

#define GET_ATTRDEF_CLASSES
#include "passes/ir/sched/SchedAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "passes/ir/sched/SchedTypes.h.inc"

namespace mlir::zg::sched {

class SliceOp;

namespace detail {
/// Names the results of `op`, for the text that is printed, after the buffer or
/// the step.
void nameResults(Operation *op, OpAsmSetValueNameFn setName);
/// Checks what the interface Step checks for every step.
LogicalResult verifyStep(Operation *op);
} // namespace detail

} // namespace mlir::zg::sched

#include "passes/ir/sched/SchedInterfaces.h.inc"

#define GET_OP_CLASSES
#include "passes/ir/sched/SchedOps.h.inc"

namespace mlir::zg::sched {

/// Module attribute, an array of ArenaAttr.
inline constexpr llvm::StringLiteral kArenasAttr = "sched.arenas";

/// Every slice begins at a multiple of so many bytes.
inline constexpr int64_t kSliceAlignment = 64;

inline constexpr unsigned kNumStreams = getMaxEnumValForStream() + 1;

/// Number of ranks of the module that `op` is in; 1 where it says nothing.
int64_t worldOf(Operation *op);

/// The arena of a space; null where `sched.arenas` has none, or is missing.
ArenaAttr arenaOf(ModuleOp module, Space space);

/// Returns where a packed slice begins; arenas lie far apart.
int64_t addressOf(SliceOp slice);

/// Returns whether two accesses of one slice can touch the same byte on one of
/// `world` ranks. Conservative: ranges are taken over all ranks.
bool overlap(AccessAttr a, AccessAttr b, int64_t world);

/// Two accesses that must not run at the same time if they touch the same byte.
inline bool interfere(AccessAttr a, AccessAttr b) {
  return a.writes() || b.writes();
}

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_IR_SCHED_SCHEDDIALECT_H
