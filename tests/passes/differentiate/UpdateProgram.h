//===- UpdateProgram.h - runs one optimizer's update ----------------------===//

#ifndef ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_UPDATEPROGRAM_H
#define ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_UPDATEPROGRAM_H

#include "passes/differentiate/Optimizer.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

namespace mlir::zg::testing {

/// An update as a function (p, g, states..., scalars...) -> (p, states...) on
/// one flat shard, run by the interpreter. Tensors of other shapes and types
/// that come in are taken as flat float64 ones.
class UpdateProgram {
public:
  UpdateProgram(const nn::OptimizerOptions &options, int64_t size);

  /// The type of parameters and states: float64.
  Type type();
  /// The parameter, then states of zeros.
  std::vector<Tensor> start(Tensor parameter);
  /// Parameter and states after step `number`, counted from 1. `gradient` is
  /// the mean over all ranks and micro-batches.
  std::vector<Tensor> step(std::vector<Tensor> persistent, Tensor gradient,
                           int number);

private:
  nn::OptimizerOptions options;
  Program program;
  /// Scalars that the update asked for, in order; `none` is the gradient's
  /// scale.
  std::vector<zerograph::options::Scalar> scalars;
};

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_UPDATEPROGRAM_H
