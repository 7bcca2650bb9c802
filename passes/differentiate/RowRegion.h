//===- RowRegion.h - ops that are computed by blocks of rows together -----===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H

#include "passes/differentiate/RowTile.h"
#include "llvm/ADT/SetVector.h"

#include <functional>
#include <optional>

namespace mlir::zg::nn {

/// Says where a region ends.
struct RowBounds {
  int64_t rows;  ///< of its tensors
  int64_t large; ///< elements from which on a tensor is worth tiling
  /// Returns whether a region takes an op that reads or makes a large tensor.
  /// It takes every op between those that it has.
  std::function<bool(Operation *)> takes = [](Operation *) { return true; };
};

/// The ops of a block that read or make large tensors, and those between them,
/// so that no op outside depends on one of them and is what another depends on.
/// All have rules (RowTile.h) for the rows.
class RowRegion {
public:
  /// Finds the region that has these ops of a block; nothing where one of its
  /// ops, which is named if `obstacle` is given, needs all rows at once.
  static std::optional<RowRegion> of(ArrayRef<Operation *> ops,
                                     RowBounds bounds,
                                     Operation **obstacle = nullptr);

  /// Returns whether a tensor is worth tiling.
  bool isLarge(Value value) const;

  int64_t rows() const { return bounds.rows; }
  /// Returns the ops in the order of their block.
  ArrayRef<Operation *> ops() const { return members.getArrayRef(); }
  bool contains(Operation *op) const { return members.contains(op); }
  /// Returns the rule of one of the ops.
  const RowRule &ruleOf(Operation *op) const { return rules.find(op)->second; }
  /// Returns the ops outside that depend on those of the region, of those that
  /// stand before its last.
  const DenseSet<Operation *> &dependents() const { return outside; }

private:
  explicit RowRegion(RowBounds bounds) : bounds(std::move(bounds)) {}

  bool add(Operation *op);
  bool grow();
  bool addBetween();
  Operation *readerOfWhole() const;

  RowBounds bounds;
  llvm::SetVector<Operation *> members;
  DenseMap<Operation *, RowRule> rules;
  DenseSet<Operation *> outside;
  Operation *refused = nullptr; ///< the last op that has no rule
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_ROWREGION_H
