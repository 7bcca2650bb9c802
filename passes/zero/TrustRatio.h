//===- TrustRatio.h - LAMB's norms of whole parameters --------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_TRUSTRATIO_H
#define ZEROGRAPH_PASSES_ZERO_TRUSTRATIO_H

#include "passes/differentiate/Optimizer.h"
#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

/// Parts of a unit's flat buffer as a program has them: this rank's shards of
/// `segments`, or the whole buffer as segment -1; each a `tensor<NxT>`.
struct UnitParts {
  int64_t unit;
  SmallVector<int64_t> segments;
  SmallVector<Value> parameters, directions;
};

/// Emits LAMB's steps and returns the new parameters, part by part. `rate` is a
/// `tensor<1xT>`. A rank squares what it holds of each parameter; where it
/// holds shards, one small all_reduce adds up the norms of the whole unit. They
/// are exact, and so the same for every layout and number of ranks.
SmallVector<Value> stepByTrustRatio(Program &program, const UnitStates &states,
                                    const UnitParts &parts,
                                    const nn::OptimizerOptions &options,
                                    Value rate, Location location);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_TRUSTRATIO_H
