//===- Queries.cpp - what passes and code generation ask of nn ops --------===//

#include "passes/ir/nn/Queries.h"

#include "passes/ir/nn/NNFunctions.h"

using namespace mlir;
using namespace mlir::zg;

bool nn::isElementwise(Operation *op) {
  return op->hasTrait<traits::Elementwise>();
}

bool nn::isCostly(Operation *op) {
  if (auto unary = dyn_cast<UnaryOp>(op)) {
    return factsOf(unary.getKind()).isCostly;
  }
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    return factsOf(binary.getKind()).isCostly;
  }
  return !isElementwise(op) || op->hasTrait<traits::Costly>();
}

bool nn::mayOverwrite(Operation *op) {
  return op->hasTrait<traits::MayOverwrite>();
}

int64_t nn::elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

bool nn::isView(Operation *op) { return op->hasTrait<traits::View>(); }

bool nn::isPlainView(Operation *op) {
  return op->hasTrait<traits::PlainView>();
}

bool nn::recastsParameter(Operation *op) {
  return isa<ReshapeOp, BroadcastOp, TransposeOp, SliceOp, ConvertOp>(op);
}

bool nn::isLiteral(Operation *op) { return op->hasTrait<traits::Literal>(); }

bool nn::isZeroBytes(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  if (!splat) {
    return false;
  }
  Attribute element = splat.getSplatValue<Attribute>();
  if (auto real = dyn_cast<FloatAttr>(element)) {
    return real.getValue().isPosZero();
  }
  auto integer = dyn_cast<IntegerAttr>(element);
  return integer && integer.getValue().isZero();
}

bool nn::sharesBytes(Operation *op) {
  return op->hasTrait<traits::SharesBytes>();
}

bool nn::isLibraryCall(Operation *op) {
  return op->hasTrait<traits::LibraryCall>();
}

std::optional<nn::KernelForm> nn::ownForm(Operation *op) {
  if (op->hasTrait<traits::Alone<KernelForm::scan>::Impl>()) {
    return KernelForm::scan;
  }
  if (op->hasTrait<traits::Alone<KernelForm::scatter>::Impl>()) {
    return KernelForm::scatter;
  }
  if (op->hasTrait<traits::Alone<KernelForm::attention>::Impl>()) {
    return KernelForm::attention;
  }
  return std::nullopt;
}

bool nn::sharesKernel(Operation *op) {
  return isa<NNDialect>(op->getDialect()) &&
         !op->hasTrait<OpTrait::IsTerminator>() && !isLibraryCall(op) &&
         !ownForm(op);
}

bool nn::computes(Operation *op) { return op->hasTrait<traits::Computes>(); }

bool nn::isProduct(Operation *op) { return op->hasTrait<traits::Product>(); }

bool nn::moves(Operation *op) { return op->hasTrait<traits::Moves>(); }

bool nn::keepsSamples(Operation *op) {
  return op->hasTrait<traits::KeepsSamples>();
}

Value nn::stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    value = reshape.getOperand();
  }
  return value;
}

bool nn::hasNextValue(ProgramOp program, StringAttr parameter) {
  return llvm::any_of(
      llvm::seq<unsigned>(0, program.getNumResults()), [&](unsigned i) {
        return program.getResultAttr(i, kNextValueAttr) == parameter;
      });
}

static nn::ParameterAttr rebuild(nn::ParameterAttr old, bool trainable,
                                 nn::AdapterAttr adapter) {
  return nn::ParameterAttr::get(old.getContext(), old.getName(),
                                old.getModule(), trainable, old.getInit(),
                                old.getSource(), old.getType(), adapter);
}

nn::ParameterAttr nn::frozen(ParameterAttr parameter) {
  return rebuild(parameter, /*trainable=*/false, parameter.getAdapter());
}

nn::ParameterAttr nn::withAdapter(ParameterAttr parameter,
                                  AdapterAttr adapter) {
  return rebuild(parameter, parameter.getTrainable(), adapter);
}
