//===- GradientSums.h - the sums of gradients that an update takes --------===//

#ifndef ZEROGRAPH_PASSES_ZERO_GRADIENTSUMS_H
#define ZEROGRAPH_PASSES_ZERO_GRADIENTSUMS_H

#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

/// Emits, at the end of `program`, how an update gets the gradients that
/// micro-batches have left, and how it leaves them zero for the next step.
class GradientSums {
public:
  GradientSums(Program &program, const UnitStates &states)
      : program(program), states(states), builder(program.terminator()) {}

  /// Returns this rank's shards of the sum of all ranks' gradients, as
  /// micro-batches left them.
  SmallVector<Value> carried(int64_t unit);
  /// Reduces the whole gradients that each rank has added up, sent as
  /// `precision`, and returns this rank's shards. The unit reduces last.
  SmallVector<Value> reduce(int64_t unit, StringRef precision);
  void clear(int64_t unit);

private:
  void clear(int64_t unit, StateAttr state, RankedTensorType type);

  Program &program;
  const UnitStates &states;
  OpBuilder builder;
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_GRADIENTSUMS_H
