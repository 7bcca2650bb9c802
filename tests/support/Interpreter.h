//===- Interpreter.h - a reference interpreter of the nn dialect ----------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_INTERPRETER_H
#define ZEROGRAPH_TESTS_SUPPORT_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/ir/nn/NNDialect.h"

#include <vector>

namespace mlir::zg::testing {

/// A tensor in row-major order. Integers are held exactly up to 2^53; i1 is 0
/// or 1. Floats are doubles whatever the element type.
struct Tensor {
  SmallVector<int64_t> shape;
  Type element;
  std::vector<double> values;

  RankedTensorType type() const {
    return RankedTensorType::get(shape, element);
  }
};

/// Every element is `value`.
Tensor filled(Type tensorType, double value);
/// Deterministic numbers in [low, high), whole for integer types.
Tensor randomTensor(Type tensorType, unsigned seed, double low, double high);
/// The value of a constant.
Tensor fromAttribute(ElementsAttr attribute);

/// Runs a function of nn ops, one op after the other, by plain loops. Floats
/// are computed in double and rounded only by nn.convert, so results are more
/// precise than the program's types: compare with a tolerance. Integers wrap
/// at their width; an integer division by zero gives 0. Aborts with a message
/// on an op outside nn or on arguments that don't fit.
std::vector<Tensor> evaluate(func::FuncOp func, ArrayRef<Tensor> arguments);
/// Runs the body of a kernel.
std::vector<Tensor> evaluate(nn::KernelOp kernel, ArrayRef<Tensor> arguments);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_INTERPRETER_H
