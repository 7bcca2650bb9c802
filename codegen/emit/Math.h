//===- Math.h - functions of floats ---------------------------------------===//
//
// One expansion of each function for vectors and scalars, without libm: an
// element's bits do not depend on its place in a row or on the machine's C
// library. f32 functions are within 2 ulp, f64 ones within 1e-15 relative
// (sine and cosine: of arguments below 1e5). A device that approximates f32
// does so for exponentials and what is made of them, and for reciprocals.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_MATH_H
#define ZEROGRAPH_CODEGEN_EMIT_MATH_H

#include "codegen/emit/Lanes.h"
#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::emit {

/// Emits a unary op of a float.
Value emitFloatUnary(Lanes &lanes, nn::UnaryKind kind, Value x);
Value emitPow(Lanes &lanes, Value x, Value y);

/// The f64 expansions (MathF64.cpp); the f32 forms of the rarer functions
/// compute with them and round once.
namespace f64 {
Value exp(Lanes &lanes, Value x);
Value expm1(Lanes &lanes, Value x);
Value log(Lanes &lanes, Value x);
Value tanh(Lanes &lanes, Value x);
Value erf(Lanes &lanes, Value x);
/// Sine if `quarters` is 0, cosine if it is 1.
Value sine(Lanes &lanes, Value x, int64_t quarters);
Value pow(Lanes &lanes, Value x, Value y);
} // namespace f64

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_MATH_H
