//===- RowRegion.h - ops that are computed by blocks of rows together -----===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H

#include "passes/differentiate/RowTile.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace mlir::zg::nn {

/// The ops of a block that read or make tensors as large as the result of a
/// product, and those between them, so that no op outside depends on one of
/// them and is what another depends on. All have rules (RowTile.h) for its
/// rows.
class RowRegion {
public:
  /// Finds the region of a product; nothing where one of its ops, `obstacle`,
  /// needs all rows at once.
  static std::optional<RowRegion> of(MatmulOp product, Operation *&obstacle);

  int64_t rows() const { return rowCount; }
  /// Returns the ops in the order of their block.
  ArrayRef<Operation *> ops() const { return members.getArrayRef(); }
  bool contains(Operation *op) const { return members.contains(op); }
  /// Returns the rule of one of the ops.
  const RowRule &ruleOf(Operation *op) const { return rules.find(op)->second; }
  /// Returns the ops outside that depend on those of the region.
  const DenseSet<Operation *> &dependents() const { return outside; }

private:
  explicit RowRegion(MatmulOp product);

  bool isLarge(Value value) const;
  bool add(Operation *op);
  bool grow();
  bool addBetween();
  Operation *readerOfWhole() const;

  int64_t rowCount, productSize;
  llvm::SetVector<Operation *> members;
  DenseMap<Operation *, RowRule> rules;
  DenseSet<Operation *> outside;
  Operation *refused = nullptr; ///< the last op that has no rule
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H
