//===- FastMath.h - functions by the special function units ---------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_FASTMATH_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_FASTMATH_H

#include "codegen/emit/Lanes.h"

namespace mlir::zg::cuda {

/// Marks a module whose kernels approximate functions so.
inline constexpr llvm::StringLiteral kFastMathAttr = "zg.fast_math";

/// Returns powers of two and reciprocals by one instruction each, `ex2.approx`
/// and `rcp.approx`, to about two units in the last place, with zeros in place
/// of subnormal numbers. Attention on tensor cores always takes the powers.
const emit::Approximation &fastMath();

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_FASTMATH_H
