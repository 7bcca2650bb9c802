//===- UnitUpdate.h - the update of a unit by its owners ------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_UNITUPDATE_H
#define ZEROGRAPH_PASSES_ZERO_UNITUPDATE_H

#include "passes/differentiate/Optimizer.h"
#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

/// The options with which each group of parameters is updated.
using Groups = SmallVector<nn::OptimizerOptions>;

/// Emits the update of one unit after another at the end of `program`.
class UnitUpdate {
public:
  /// `scalar` is the type of learning rates and the like. If `skips`, a step
  /// whose gradient scale is 0 leaves everything as it was.
  UnitUpdate(Program &program, const UnitStates &states, const Groups &groups,
             RankedTensorType scalar, bool skips)
      : program(program), states(states), groups(groups), scalarType(scalar),
        skips(skips), builder(program.terminator()) {}

  /// Emits the update; `gradients` are shards of the sum, of all segments.
  void run(int64_t unit, ValueRange gradients);

private:
  void updateWhole(int64_t unit, ValueRange gradients);
  void updateShards(int64_t unit, ValueRange gradients);
  SmallVector<Value> update(int64_t unit, ArrayRef<int64_t> segments,
                            ValueRange gradients);
  nn::Update updateFrom(int64_t unit, int64_t segment, Value parameter,
                        Value gradient);
  Value round(int64_t unit, int64_t segment, Value made);
  Value unlessSkipped(Value made, Value before);

  const nn::OptimizerOptions &optimizerOf(int64_t unit) const {
    return groups[states.group(unit)];
  }
  bool hasMaster(int64_t unit) const {
    return bool(states.declared(unit, kMasterRole));
  }
  Value gradientScale();
  Value scalar(int64_t unit, zerograph::options::Scalar one);
  Value trustedRate(int64_t unit);
  Value master(int64_t unit, int64_t segment);
  Value parameters(int64_t unit, int64_t segment);
  RankedTensorType typeOf(int64_t unit, int64_t segment, StringRef role) const;

  Program &program;
  const UnitStates &states;
  const Groups &groups;
  RankedTensorType scalarType;
  bool skips;
  OpBuilder builder;
  Location location = builder.getUnknownLoc();
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_UNITUPDATE_H
