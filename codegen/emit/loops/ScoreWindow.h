//===- ScoreWindow.h - which scores a mask leaves by structure ------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCOREWINDOW_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCOREWINDOW_H

#include "codegen/emit/Graph.h"

#include <optional>

namespace mlir::zg::emit {

/// Masks below this make a probability zero, unless all of a query's keys are
/// masked: no score that a network computes comes near it.
inline constexpr double kMasked = -1e30;

/// The keys that a query sees, whatever the data are: key j of query i is
/// masked unless i - behind <= j <= i + ahead. Masks that depend on data, and
/// those that say nothing of the kind, leave all keys.
struct ScoreWindow {
  std::optional<int64_t> ahead, behind;

  /// Finds it in the tree of what becomes of scores, of `keys` rows of a domain
  /// each, whose columns are queries. The graph is resolved.
  static ScoreWindow of(const Node *x, int64_t keys, int64_t queries);

  bool isWhole() const { return !ahead && !behind; }
  /// Leaves what both leave.
  void intersect(const ScoreWindow &other);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCOREWINDOW_H
