//===- ClassLoss.h - losses over classes ----------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_CLASSLOSS_H
#define ZEROGRAPH_FRONTEND_EMIT_CLASSLOSS_H

#include "frontend/emit/Emitter.h"

#include <optional>

namespace zerograph::frontend {

/// Scores as rows [R, C] and integer labels as [R, 1].
struct ClassRows {
  mlir::Value scores, labels;
  Shape labelShape; ///< before
  int64_t count, classes;
};

/// Makes rows of scores [N..., C, ...] with the classes along `axis`, and
/// labels of the same shape without it. Throws ImportError if they do not fit.
ClassRows classRows(Emitter &emit, mlir::Value scores, mlir::Value labels,
                    int64_t axis);

/// The number that each row adds to a loss, [R, 1], and what it counts in the
/// mean; null: 1 each.
struct RowLoss {
  mlir::Value loss, weight;
};

/// Multiplies `loss` [R, 1] by its label's weight in `table` [C] (null: 1), and
/// leaves out rows whose label is `ignored`.
RowLoss weighRows(Emitter &emit, const ClassRows &rows, mlir::Value loss,
                  mlir::Value table, std::optional<int64_t> ignored);

/// Minus the score of each row's label, [R, 1].
mlir::Value negativeScores(Emitter &emit, const ClassRows &rows);

mlir::Value sumOfRows(Emitter &emit, mlir::Value rows);
/// The mean over what counts; of nothing it is NaN, as in PyTorch.
mlir::Value meanOfRows(Emitter &emit, const RowLoss &rows);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_CLASSLOSS_H
