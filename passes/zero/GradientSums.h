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

  /// This rank's shards of the sum of all ranks' gradients, as micro-batches
  /// left them.
  SmallVector<Value> carried(int64_t unit);
  /// The same, of what each rank has added up, which is sent as `precision`: of
  /// a unit that reduces last.
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
