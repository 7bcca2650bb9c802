//===- Definitions.h - bytes are written before they are read -------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_DEFINITIONS_H
#define ZEROGRAPH_PASSES_SCHEDULE_DEFINITIONS_H

#include "passes/ir/sched/SchedDialect.h"

namespace mlir::zg::sched {

/// Every byte that one of `ranks` ranks reads of a slice that is not carried
/// was written by a step before. Reports the first that was not.
LogicalResult verifyDefinitions(ArrayRef<Step> steps, int64_t ranks);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_DEFINITIONS_H
