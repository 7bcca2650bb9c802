//===- RowSweeps.h - how often a kernel goes over its rows ----------------===//
//
// A row is swept once for each generation of reductions: those that wait for
// nothing in the first sweep, those of their results in the second, and so
// on. Results as wide as the row are all stored in the last sweep.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWSWEEPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWSWEEPS_H

#include "codegen/emit/loops/RowResult.h"

#include <optional>

namespace mlir::zg::emit {

struct Sweep {
  SmallVector<Node *> reductions;
  SmallVector<RowResult> stores;

  /// Returns the nodes that it computes: what it reduces, and what it stores.
  SmallVector<Node *> computed() const;
};

/// A kernel over rows; nodes are those of its graph, which stays where it is.
struct RowSweeps {
  Domain domain;
  bool hasReductions = false;
  std::optional<Graph> graph;
  SmallVector<Sweep> sweeps;
  /// The results that have one element a row.
  SmallVector<RowResult> rowResults;

  /// Once. An error names the op that cannot be in the kernel.
  LogicalResult find(nn::KernelOp kernel);

  /// Every element stands for itself: there is nothing of a whole row.
  bool isElementwise() const { return !hasReductions && rowResults.empty(); }
  /// Moreover, all of them are one row.
  bool isFlat() const { return isElementwise() && domain.rows == 1; }

  /// Returns how many of the `chunks` that a turn of a loop could handle it
  /// should: long bodies are not unrolled as far, as it would only cost compile
  /// time.
  int64_t unrolled(const Sweep &sweep, int64_t chunks);

  /// Returns how many values of a column a sweep computes and a later one uses.
  int64_t sharedValues() const;

private:
  LogicalResult findDomain(nn::KernelOp kernel);
  LogicalResult addResults(nn::KernelOp kernel, SmallVector<RowResult> &full);
  void findSweeps(ArrayRef<RowResult> full);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWSWEEPS_H
