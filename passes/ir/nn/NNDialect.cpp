//===- NNDialect.cpp - registration and small helpers of the nn dialect ---===//

#include "passes/ir/nn/NNDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg::nn;

#include "passes/ir/nn/NNDialect.cpp.inc"
#include "passes/ir/nn/NNEnums.cpp.inc"
#include "passes/ir/nn/NNInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "passes/ir/nn/NNAttrs.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "passes/ir/nn/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "passes/ir/nn/NNOps.cpp.inc"
      >();
}

LogicalResult
InputAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  StringAttr name, bool perSample, std::optional<int64_t> min,
                  std::optional<int64_t> max, llvm::ArrayRef<int64_t> ignored) {
  assert(min.has_value() == max.has_value() && "the syntax has both or none");
  if (min && *min > *max) {
    return emitError() << "input " << name << " has legal values from " << *min
                       << " to " << *max;
  }
  return success();
}

/// A next value is that of one parameter, in its type.
LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op,
                                                     unsigned region,
                                                     unsigned result,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<ProgramOp>(op);
  if (!function || attribute.getName() != kNextValueAttr) {
    return success();
  }
  auto error = [&](auto &&...parts) {
    InFlightDiagnostic diagnostic = op->emitError("result ");
    diagnostic << result << " is a next value";
    (diagnostic << ... << parts);
    return diagnostic;
  };
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name) {
    return error(" of ", attribute.getValue(), ", not of a name");
  }
  for (unsigned i = 0; i < result; ++i) {
    if (function.getResultAttr(i, kNextValueAttr) == name) {
      return error(" of ", name, ", as result ", i, " is");
    }
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto parameter =
        function.getArgAttrOfType<ParameterAttr>(i, kParameterAttr);
    if (!parameter || parameter.getName() != name) {
      continue;
    }
    if (function.getArgumentTypes()[i] != function.getResultTypes()[result]) {
      return error(" of ", name, ", whose type is ",
                   function.getArgumentTypes()[i], ", not ",
                   function.getResultTypes()[result]);
    }
    return success();
  }
  return error(" of ", name, ", which is no parameter of the program");
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type) {
    return nullptr;
  }
  return builder.create<ConstantOp>(location, type, elements);
}

bool mlir::zg::nn::isHalf(Type elementType) {
  return elementType.isF16() || elementType.isBF16();
}

int64_t mlir::zg::nn::elementBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t mlir::zg::nn::rowStrideOf(RankedTensorType type) {
  if (auto apart = dyn_cast_or_null<RowStrideAttr>(type.getEncoding())) {
    return apart.getStride();
  }
  return type.getRank() == 0 ? 1 : type.getShape().back();
}

Type mlir::zg::nn::denseType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<RowStrideAttr>(tensor.getEncoding())
             ? RankedTensorType::get(tensor.getShape(), tensor.getElementType())
             : type;
}

bool mlir::zg::nn::isDense(Type type) { return denseType(type) == type; }

LogicalResult RowStrideAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.empty() || shape.back() > getStride()) {
    return emitError() << "rows of a tensor of " << shape << " cannot begin "
                       << getStride() << " elements apart";
  }
  return success();
}

int64_t mlir::zg::nn::tensorBytes(Type tensorType) {
  auto tensor = cast<RankedTensorType>(tensorType);
  int64_t elements = tensor.getNumElements();
  if (int64_t columns = tensor.getRank() ? tensor.getShape().back() : 0) {
    elements = elements / columns * rowStrideOf(tensor);
  }
  return elements * elementBytes(tensor.getElementType());
}

std::string mlir::zg::nn::nameOf(Location location) {
  std::string name;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}
