//===- MlirTypes.cpp - ONNX's element types and MLIR's --------------------===//

#include "frontend/emit/MlirTypes.h"

#include "frontend/base/ElementType.h"
#include "frontend/base/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"

using namespace mlir;
using onnx::TensorProto;

namespace zerograph::frontend {

Type elementTypeOf(MLIRContext *context, int32_t onnxType) {
  Builder builder(context);
  switch (onnxType) {
  case TensorProto::FLOAT:
    return builder.getF32Type();
  case TensorProto::DOUBLE:
    return builder.getF64Type();
  case TensorProto::FLOAT16:
    return builder.getF16Type();
  case TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case TensorProto::INT64:
    return builder.getI64Type();
  case TensorProto::INT32:
    return builder.getI32Type();
  case TensorProto::INT16:
    return builder.getIntegerType(16);
  case TensorProto::INT8:
    return builder.getIntegerType(8);
  case TensorProto::UINT8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case TensorProto::BOOL:
    return builder.getI1Type();
  default:
    fail("type ", typeName(onnxType), " is not supported");
  }
}

int32_t onnxTypeOf(Type type) {
  if (type.isF32()) {
    return TensorProto::FLOAT;
  }
  if (type.isF64()) {
    return TensorProto::DOUBLE;
  }
  if (type.isF16()) {
    return TensorProto::FLOAT16;
  }
  if (type.isBF16()) {
    return TensorProto::BFLOAT16;
  }
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return TensorProto::INT64;
  case 32:
    return TensorProto::INT32;
  case 16:
    return TensorProto::INT16;
  case 8:
    return type.isUnsignedInteger() ? TensorProto::UINT8 : TensorProto::INT8;
  default:
    return TensorProto::BOOL;
  }
}

} // namespace zerograph::frontend
