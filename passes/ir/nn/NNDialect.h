//===- NNDialect.h - the nn dialect: classes of its ops and attributes ----===//

#ifndef ZEROGRAPH_PASSES_IR_NN_NNDIALECT_H
#define ZEROGRAPH_PASSES_IR_NN_NNDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/ir/nn/NNTraits.h"
#include "passes/ir/nn/Queries.h"

#include "passes/ir/nn/Composite.h"
#include "passes/ir/nn/NNEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "passes/ir/nn/NNAttrs.h.inc"

#include "passes/ir/nn/NNDialect.h.inc"
#include "passes/ir/nn/NNInterfaces.h.inc"

namespace mlir::zg::nn::detail {
/// Names the results of `op`, for the text that is printed, after the ONNX node
/// that it came from: those that TableGen calls `names`, as far as their number
/// does not vary.
void nameResults(Operation *op, ArrayRef<StringRef> names,
                 OpAsmSetValueNameFn setName);
} // namespace mlir::zg::nn::detail

#define GET_OP_CLASSES
#include "passes/ir/nn/NNOps.h.inc"

namespace mlir::zg::nn {

/// The suffixes of a weight's name, for the matrices of its adapter.
inline constexpr llvm::StringLiteral kAdapterA = ".lora_A";
inline constexpr llvm::StringLiteral kAdapterB = ".lora_B";

/// Names of the attributes on a program's arguments and results.
inline constexpr llvm::StringLiteral kInputAttr = "nn.input"; // InputAttr
inline constexpr llvm::StringLiteral kParameterAttr =
    "nn.parameter";                                             // ParameterAttr
inline constexpr llvm::StringLiteral kOutputAttr = "nn.output"; // StringAttr
/// On a result whose leading dimension is samples. UnitAttr.
inline constexpr llvm::StringLiteral kPerSampleAttr = "nn.per_sample";
/// On a result: the name (StringAttr) of the parameter that has this value from
/// then on, such as a running mean. Each micro-batch ends with it.
inline constexpr llvm::StringLiteral kNextValueAttr = "nn.next_value";
/// On a result of one f64: what the loss, a sum, is to be divided by, over all
/// micro-batches of a step. UnitAttr.
inline constexpr llvm::StringLiteral kLossCountAttr = "nn.loss_count";
/// On a result of one number that is told beside the loss: its place among the
/// plan's metrics (an i64).
inline constexpr llvm::StringLiteral kMetricAttr = "nn.metric";
/// On a softmax of what could be attention: why it is none (StringAttr). On the
/// module: node and reason of each (ArrayAttr).
inline constexpr llvm::StringLiteral kUnfusedAttr = "nn.unfused";
/// On an argument of a differentiated or later program. ScalarAttr.
inline constexpr llvm::StringLiteral kScalarAttr = "nn.scalar";

/// The scalars that programs may ask for with `nn.scalar`, until
/// zero-bind-scalars makes arguments of them; see that op.
inline constexpr llvm::StringLiteral kSeedScalar = "seed";
inline constexpr llvm::StringLiteral kStepScalar = "step";
inline constexpr llvm::StringLiteral kSampleBaseScalar = "sample_base";
inline constexpr llvm::StringLiteral kLossScaleScalar = "loss_scale";

/// The rank among those that share a unit, an i64.
inline constexpr llvm::StringLiteral kRankScalar = "rank";

/// No constant but a splat may hold more bytes than this: masks stay iota and
/// compare instead of growing the plan.
inline constexpr int64_t kMaxConstantBytes = 64 * 1024;

/// f16 or bf16: numbers are stored in it, and computed with in f32.
bool isHalf(Type elementType);
/// Bytes of one element of a tensor in memory; i1 takes one.
int64_t elementBytes(Type elementType);
/// Returns how many elements apart the rows of a tensor, its innermost
/// dimension, begin in memory: those of a row, unless it has a `row_stride`.
int64_t rowStrideOf(RankedTensorType type);
/// Returns the type of the same tensor without a `row_stride`.
Type denseType(Type type);
/// Returns whether a tensor has no `row_stride`.
bool isDense(Type type);
/// Bytes of a statically shaped tensor in memory, the ends of rows included.
int64_t tensorBytes(Type tensorType);

/// Returns what is printed as the name of a value that is called `text`,
/// perhaps a path or a label with spaces.
std::string printedName(StringRef text);

/// The ONNX name an op came from, or the op's own name where there is none.
std::string nameOf(Location location);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NNDIALECT_H
