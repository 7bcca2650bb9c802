//===- FlatBuffers.h - parameters as views of flat buffers ----------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_FLATBUFFERS_H
#define ZEROGRAPH_PASSES_ZERO_FLATBUFFERS_H

#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"
#include "passes/zero/Units.h"

namespace mlir::zg::zero {

/// Says on the module what the units are, which ranks, how many micro-batches
/// and which stage they are for, and which groups the optimizer has.
void declareUnits(ModuleOp module, ArrayRef<Unit> units,
                  const OptimizerGroups &groups, int64_t ranks, int64_t stage,
                  int64_t accumulate);

/// Makes `parameter` a view of `flat`, its unit's whole buffer, right before
/// each op that reads it.
void viewParameter(Program &program, BlockArgument parameter,
                   PlacementAttr place, Value flat);
/// Makes the parameters of `program` views of their unit's whole buffer, a view
/// for each op that reads one, right before it; where the buffer has 16 bits,
/// the view takes the place of the op that rounds the parameter. The module
/// declares the units.
void viewParameters(Program &program, ArrayRef<Unit> units,
                    const UnitStates &states);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_FLATBUFFERS_H
