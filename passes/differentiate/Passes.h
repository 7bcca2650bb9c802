//===- Passes.h - differentiation and decomposition of nn -----------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_PASSES_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// On a result of `@micro`: the name of the parameter that it is the gradient
/// of, a StringAttr.
inline constexpr llvm::StringLiteral kGradientAttr = "nn.gradient";

/// The function with the forward graph, and the one made from it; and, where
/// there is one, the forward graph of an evaluation.
inline constexpr llvm::StringLiteral kForwardFunction = "forward";
inline constexpr llvm::StringLiteral kEvaluateFunction = "evaluate";
inline constexpr llvm::StringLiteral kMicroFunction = "micro";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/differentiate/Passes.h.inc"

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_PASSES_H
