//===- Precision.h - what the passes of a precision share -----------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_PRECISION_PRECISION_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_PRECISION_PRECISION_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/ir/nn/NNBuilder.h"

namespace mlir::zg::nn {

/// On a module that is trained in less than its own precision: the type of 16
/// bits, a TypeAttr. `nn-lower-precision` puts it there.
inline constexpr llvm::StringLiteral kPrecisionAttr = "nn.precision";

/// Null where the module is trained in its own precision.
inline Type precisionOf(ModuleOp module) {
  auto type = module->getAttrOfType<TypeAttr>(kPrecisionAttr);
  return type ? type.getValue() : Type();
}

/// The f16 or bf16 number that `value` holds in f32; null where it holds any.
inline Value narrowSource(Value value) {
  auto convert = value.getDefiningOp<ConvertOp>();
  return convert && elementOf(value).isF32() &&
                 isHalf(elementOf(convert.getOperand()))
             ? convert.getOperand()
             : Value();
}

/// Gives a value the same shape of other elements.
inline void setElement(Value value, Type element) {
  value.setType(cast<RankedTensorType>(value.getType()).clone(element));
}

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_PRECISION_PRECISION_H
