//===- Queries.h - what passes and code generation ask of nn ops ----------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_QUERIES_H
#define ZEROGRAPH_PASSES_IR_NN_QUERIES_H

#include "mlir/IR/Operation.h"

namespace mlir::zg::nn {

/// Whether element i of the result is made of elements i of the operands alone:
/// unary, binary, compare, select, convert, random_uniform.
bool isElementwise(Operation *op);

/// The value whose bytes `value` is under another shape.
Value stripReshapes(Value value);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_QUERIES_H
