//===- MlirTypes.h - ONNX's element types and MLIR's ----------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_MLIRTYPES_H
#define ZEROGRAPH_FRONTEND_EMIT_MLIRTYPES_H

#include "mlir/IR/Types.h"

#include <cstdint>

namespace zerograph::frontend {

/// The MLIR element type of an ONNX type; fails on one that nn lacks.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int32_t onnxType);
/// And back.
int32_t onnxTypeOf(mlir::Type elementType);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_MLIRTYPES_H
