//===- Elementwise.h - one elementwise op on lanes ------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_ELEMENTWISE_H
#define ZEROGRAPH_CODEGEN_EMIT_ELEMENTWISE_H

#include "codegen/emit/Lanes.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"

namespace mlir::zg::emit {

using nn::isElementwise;

/// Refuses element types no kernel can be generated for.
LogicalResult checkElementType(Operation *op, Type element);

/// The op applied to operands that are all scalars or all vectors. The
/// element types were checked.
Value emitElementwise(Lanes &lanes, Operation *op, ValueRange operands);

/// f32 of the bits of f16 or bf16, which `half` is.
Value emitFromHalf(Lanes &lanes, Type half, Value bits);

/// How a reduction combines two values, and what it begins with.
Value emitCombine(Lanes &lanes, nn::ReduceKind kind, Type element, Value x,
                  Value y);
Value emitNeutral(Lanes &lanes, nn::ReduceKind kind, Type element, Type type);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_ELEMENTWISE_H
