//===- Interpreter.h - a reference interpreter of the nn dialect ----------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_INTERPRETER_H
#define ZEROGRAPH_TESTS_SUPPORT_INTERPRETER_H

#include "passes/ir/nn/NNDialect.h"
#include "tests/support/Tensor.h"

namespace mlir::zg::testing {

/// Runs a function of nn ops, one op after the other, by plain loops. Floats
/// are computed in double and rounded only by nn.convert, so results are more
/// precise than the program's types: compare with a tolerance. Integers wrap
/// at their width; an integer division by zero gives 0. Aborts with a message
/// on an op outside nn or on arguments that don't fit. Of a run there is a
/// seed, a step and a micro-batch, always the same.
std::vector<Tensor> evaluate(nn::ProgramOp func, ArrayRef<Tensor> arguments);
/// Runs the body of a kernel.
std::vector<Tensor> evaluate(nn::KernelOp kernel, ArrayRef<Tensor> arguments);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_INTERPRETER_H
