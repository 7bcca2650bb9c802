//===- ZeroDialect.h - the zero dialect: classes of its ops, attributes ---===//

#ifndef ZEROGRAPH_PASSES_IR_ZERO_ZERODIALECT_H
#define ZEROGRAPH_PASSES_IR_ZERO_ZERODIALECT_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Numerics.h"

#include "passes/ir/zero/ZeroDialect.h.inc"
#include "passes/ir/zero/ZeroEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "passes/ir/zero/ZeroAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "passes/ir/zero/ZeroTypes.h.inc"

namespace mlir::zg::zero::detail {
/// Names the results of `op`, for the text that is printed, after the unit or
/// the parameter.
void nameResults(Operation *op, OpAsmSetValueNameFn setName);
} // namespace mlir::zg::zero::detail

#define GET_OP_CLASSES
#include "passes/ir/zero/ZeroOps.h.inc"

namespace mlir::zg::zero {

/// Module attributes.
inline constexpr llvm::StringLiteral kMeshAttr = "zero.mesh";   // MeshAttr
inline constexpr llvm::StringLiteral kStageAttr = "zero.stage"; // i64
inline constexpr llvm::StringLiteral kAccumulateAttr = "zero.accumulate"; // i64
/// How many ops of the forward pass backward computes again; none: missing.
inline constexpr llvm::StringLiteral kRecomputedAttr = "zero.recomputed"; // i64
/// Argument and result attributes, StateAttr.
inline constexpr llvm::StringLiteral kStateAttr = "zero.state";
inline constexpr llvm::StringLiteral kUpdatesAttr = "zero.updates";
inline constexpr llvm::StringLiteral kOutputAttr = "zero.output";
/// On a result of @micro: the unit (i64) whose packed gradients it is. From
/// `zero-layout` to `zero-reductions`.
inline constexpr llvm::StringLiteral kGradientAttr = "zero.gradient";

/// The axis of the mesh along which ranks take different samples.
inline constexpr llvm::StringLiteral kDataAxis = "data";

/// A parameter begins, and a shard ends, at a multiple of so many elements.
inline constexpr int64_t kAlignElements = nn::kSquareBlock;

/// Roles of a StateAttr that are no optimizer state.
inline constexpr llvm::StringLiteral kParamRole = "param";
inline constexpr llvm::StringLiteral kGradRole = "grad";
/// The state that the update works on where parameters have 16 bits, rounded
/// from it.
inline constexpr llvm::StringLiteral kMasterRole = "master";
inline constexpr llvm::StringLiteral kLossRole = "loss";
inline constexpr llvm::StringLiteral kStopRole = "stop";
/// The divisor of the sum of losses, where it is not their number; f64.
inline constexpr llvm::StringLiteral kLossCountRole = "loss_count";
/// The sum of a metric; its segment is its place among them.
inline constexpr llvm::StringLiteral kMetricRole = "metric";
/// The norm of the mean gradient, before it is clipped; f64, of no unit.
inline constexpr llvm::StringLiteral kNormRole = "gradient_norm";

/// The mesh of the module that `op` is, or is in; one rank where it has none (a
/// test that looks at one op).
MeshAttr meshOf(Operation *op);

/// The layout of the module that `op` is, or is in; null where it has none.
LayoutOp layoutOf(Operation *op);
/// Its units, of type ParamUnitAttr; null where there is no layout.
ArrayAttr unitsOf(Operation *op);

/// The memory of a state, as its unit declares it; the device's where nothing
/// does.
Space spaceOf(StateAttr state, ArrayAttr units);

/// Returns what is printed as the name of a state: that of its unit and the
/// role.
std::string printedName(StateAttr state, ArrayAttr units);

/// First element of a segment in its unit's flat buffer.
int64_t segmentOffset(ParamUnitAttr unit, int64_t segment);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_IR_ZERO_ZERODIALECT_H
