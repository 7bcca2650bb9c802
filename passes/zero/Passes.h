//===- Passes.h - passes that spread training over ranks ------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_PASSES_H
#define ZEROGRAPH_PASSES_ZERO_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "options/Options.h"
#include "passes/ir/zero/ZeroDialect.h"

namespace mlir::zg::zero {

/// The programs of training: a micro-batch, and the update; or both in one.
inline constexpr llvm::StringLiteral kMicroProgram = "micro";
inline constexpr llvm::StringLiteral kUpdateProgram = "update";
inline constexpr llvm::StringLiteral kStepProgram = "step";
/// The program that `zero-evaluate` makes of the function of that name; the
/// scalar that a micro-batch's loss counts by in it, and the roles of the sum
/// and of what the loss counts (`nn-sum-loss`).
inline constexpr llvm::StringLiteral kEvaluateProgram = "evaluate";
inline constexpr llvm::StringLiteral kWeightScalar = "weight";
inline constexpr llvm::StringLiteral kEvaluationRole = "eval_loss";
inline constexpr llvm::StringLiteral kEvaluationCountRole = "eval_count";
inline constexpr llvm::StringLiteral kEvaluationMetricRole = "eval_metric";
/// The program that `zero-forward` makes.
inline constexpr llvm::StringLiteral kForwardProgram = "forward";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/zero/Passes.h.inc"

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_PASSES_H
