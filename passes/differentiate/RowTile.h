//===- RowTile.h - how ops compute some of their rows ---------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_ROWTILE_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_ROWTILE_H

#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/NNBuilder.h"

#include <optional>

namespace mlir::zg::nn {

/// Says how an op of `rows` rows computes. The rows of a tensor are its leading
/// dimensions together: the fewest that have so many elements.
struct RowRule {
  /// For each operand whether row i of the result needs row i of it; otherwise
  /// all rows need all of it.
  SmallVector<bool, 4> byRow;
  /// The result is a sum over rows, and has none itself.
  bool sums = false;
};

/// Returns the rule of an op that computes every row of its results from the
/// same row of its operands, or sums rows up; nothing of any other.
std::optional<RowRule> rowRuleOf(Operation *op, int64_t rows);

/// Returns the shape of one of the rows of a value that has `rows`.
ArrayRef<int64_t> shapeOfRow(Value value, int64_t rows);
/// Returns `value`, which has `rows` rows, with these as its first dimension.
Value inRows(OpBuilder &builder, Value value, int64_t rows);

/// Computes an op that has this rule for `part` of its `rows` rows. `tile` has
/// what was computed of the part, and gets the op's results; `rowsOf` gives the
/// rows, as `inRows` of the part, of operands that were not. A sum is added to
/// the one that `tile` has of the rows before, if any.
void computeRows(OpBuilder &builder, Operation *op, const RowRule &rule,
                 int64_t rows, int64_t part, IRMapping &tile,
                 function_ref<Value(Value)> rowsOf);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_ROWTILE_H
