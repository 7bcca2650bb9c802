//===- GatherPlacement.h - when parameters are gathered, released ---------===//

#ifndef ZEROGRAPH_PASSES_ZERO_GATHERPLACEMENT_H
#define ZEROGRAPH_PASSES_ZERO_GATHERPLACEMENT_H

#include "passes/ir/nn/NNDialect.h"
#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

/// One stay of a unit's whole flat buffer: gathered before op `first` of the
/// program's block, released after op `last`.
struct Gather {
  int64_t unit;
  int64_t first, last;
  Stay stay;
  /// Tells people the stay, the unit and its first user.
  std::string reason;
  /// Views of the unit's buffer that are read within the stay.
  SmallVector<ViewOp> views;
};

/// Returns the view that `value` is, or is made from for one user; null for
/// none.
ViewOp viewBehind(Value value);

/// Returns the stays of the units whose parameters are shards, by `first`, then
/// in the order of the first op's operands. `program` is what `zero-layout`
/// makes: it reads parameters through views right before their users, and its
/// first result is the loss. A unit's consecutive uses share a stay unless a
/// use of another block's sharded unit lies between them.
std::vector<Gather> placeGathers(nn::ProgramOp program,
                                 const UnitStates &states);

/// Gathers what `placeGathers` says; the shards are arguments instead of what
/// is gathered. Returns how many it gathered.
int64_t insertGathers(Program &program, const UnitStates &states);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_GATHERPLACEMENT_H
