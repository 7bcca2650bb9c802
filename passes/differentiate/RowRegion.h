//===- RowRegion.h - ops that are computed by blocks of rows together -----===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H

#include "passes/ir/nn/NNDialect.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace mlir::zg::nn {

/// The ops of a block that read or make tensors as large as the result of a
/// product, and those between them. All have rules (RowTile.h) for its rows,
/// and no op outside reads what one of them makes and makes what one of them
/// reads.
class RowRegion {
public:
  /// Finds the region of a product; nothing where an op needs all rows at once.
  static std::optional<RowRegion> of(MatmulOp product);

  int64_t rows() const { return rowCount; }
  /// Returns the ops in the order of their block.
  ArrayRef<Operation *> ops() const { return members.getArrayRef(); }
  bool contains(Operation *op) const { return members.contains(op); }
  /// Returns the ops outside that follow from those of the region.
  const DenseSet<Operation *> &following() const { return after; }

private:
  explicit RowRegion(MatmulOp product);

  bool isLarge(Value value) const;
  bool add(Operation *op);
  bool grow();
  bool addBetween();
  bool readsByRow() const;

  int64_t rowCount, largest;
  llvm::SetVector<Operation *> members;
  DenseSet<Operation *> after;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H
