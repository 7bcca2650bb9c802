//===- GatherPlan.h - when stage 3 gathers and releases which unit --------===//

#ifndef ZEROGRAPH_PASSES_ZERO_GATHERPLAN_H
#define ZEROGRAPH_PASSES_ZERO_GATHERPLAN_H

#include "passes/zero/Units.h"

namespace mlir::zg::zero {

/// One stay of a unit's whole flat buffer: gathered before op `first` of the
/// program's block, released after op `last`.
struct Gather {
  int64_t unit;
  int64_t first, last;
  Stay stay;
  /// For people: the stay, the unit and its first user.
  std::string reason;
};

/// The stays of the units that `sharded` selects, by `first`, then unit.
/// A unit's consecutive uses share a stay unless a use of another sharded unit
/// lies between them. Ops after position `loss` are backward.
std::vector<Gather> planGathers(func::FuncOp program, ArrayRef<Unit> units,
                                llvm::function_ref<bool(int64_t)> sharded,
                                int64_t loss);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_GATHERPLAN_H
