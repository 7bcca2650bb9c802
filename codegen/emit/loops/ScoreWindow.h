//===- ScoreWindow.h - which scores a mask leaves by structure ------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCOREWINDOW_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCOREWINDOW_H

#include "codegen/emit/Graph.h"

#include <optional>

namespace mlir::zg::emit {

/// Masks below this make a probability zero, unless all of a query's keys are
/// masked: no score that a network computes comes near it.
inline constexpr double kMasked = -1e30;

/// Says which keys a mask by position leaves to a query: key j is masked for
/// query i unless i - behind <= j <= i + ahead. A missing bound masks nothing,
/// and neither does a mask that is data.
struct ScoreWindow {
  std::optional<int64_t> ahead, behind;
  /// Are conditions of the tree of x, and whether they hold of every score that
  /// the window leaves.
  SmallVector<std::pair<Node *, bool>, 2> known;

  /// Returns the window of the masks in the tree of x, the operand of the
  /// softmax (AttentionLoops). The graph is resolved.
  static ScoreWindow of(Node *x, int64_t keys, int64_t queries);

  bool isWhole() const { return !ahead && !behind; }
  /// Narrows it to the keys that both leave.
  void intersect(const ScoreWindow &other);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCOREWINDOW_H
