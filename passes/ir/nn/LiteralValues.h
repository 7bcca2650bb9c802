//===- LiteralValues.h - what needs no tensor -----------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_LITERALVALUES_H
#define ZEROGRAPH_PASSES_IR_NN_LITERALVALUES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::zg::nn {

/// The values of a block that follow from literals alone, through any ops but
/// library calls: a mask, an angle of each position. They can be made wherever
/// they are read, so no pass keeps, hides or moves them as tensors. A snapshot
/// of the block.
class LiteralValues {
public:
  explicit LiteralValues(Block &block);
  bool contains(Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<Value> values;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_LITERALVALUES_H
