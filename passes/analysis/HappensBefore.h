//===- HappensBefore.h - order of the steps of a sched.program ------------===//

#ifndef ZEROGRAPH_PASSES_ANALYSIS_HAPPENSBEFORE_H
#define ZEROGRAPH_PASSES_ANALYSIS_HAPPENSBEFORE_H

#include "passes/analysis/VectorClocks.h"
#include "passes/ir/sched/SchedDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::zg::sched {

/// The steps of a program by index in issue order, and what its streams,
/// awaits and collectives say about their order. A snapshot: changing the
/// program's steps or awaits invalidates it.
class HappensBefore {
public:
  explicit HappensBefore(ProgramOp program);

  ArrayRef<Step> steps() const { return stepList; }
  unsigned index(Operation *step) const { return indices.lookup(step); }
  const VectorClocks &clocks() const { return vectorClocks; }
  /// Returns whether step `a` is always done when step `b` begins.
  bool before(unsigned a, unsigned b) const {
    return vectorClocks.before(a, b);
  }

private:
  SmallVector<Step> stepList;
  DenseMap<Operation *, unsigned> indices;
  VectorClocks vectorClocks;
};

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_ANALYSIS_HAPPENSBEFORE_H
