//===- Queries.cpp - what passes and code generation ask of nn ops --------===//

#include "passes/ir/nn/Queries.h"

#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg;

bool nn::isElementwise(Operation *op) {
  return isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp,
             RandomUniformOp>(op);
}

Value nn::stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    value = reshape.getOperand();
  }
  return value;
}
