//===- Scalar.h - the functions of nn on single numbers -------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_SCALAR_H
#define ZEROGRAPH_TESTS_SUPPORT_SCALAR_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::testing {

// `element` is the type of the operands. Floats of every width are computed
// in double and not rounded; integers wrap at their width.

double applyUnary(nn::UnaryKind kind, Type element, double x);
double applyBinary(nn::BinaryKind kind, Type element, double a, double b);
double applyCompare(nn::CompareKind kind, double a, double b);

/// As nn.convert: truncates, rounds to nearest even, wraps.
double convertScalar(Type from, Type to, double x);
/// The number nearest to `x` that the type has; integers wrap.
double roundTo(Type element, double x);

nn::BinaryKind binaryOf(nn::ReduceKind kind);
/// Returns what a reduction of `element` begins with.
double neutral(nn::ReduceKind kind, Type element);

/// The number of a FloatAttr or IntegerAttr.
double scalarValue(TypedAttr attribute);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_SCALAR_H
