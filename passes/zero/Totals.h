//===- Totals.h - numbers that are summed over ranks ----------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_TOTALS_H
#define ZEROGRAPH_PASSES_ZERO_TOTALS_H

#include "passes/zero/Program.h"

namespace mlir::zg::zero {

/// Returns the loss, or a metric, as one number, a tensor<1>, that can be added
/// up: of float64, as the model computes it, or of float32.
Value numberOf(Program &program, Value loss);

/// Adds `value`, one number, of all ranks to the sum that is carried as `role`,
/// the `place`-th of that role where there are several. `reason` says why, in
/// dumps and for `inspect`. If `early`, it is added right after what makes the
/// value, else at the end.
void addTotal(Program &program, Value value, StringRef role, StringRef reason,
              bool early = false, int64_t place = -1);

/// Adds `value`, one number, to the sum of the metric that `result` of the
/// program is.
void addMetric(Program &program, unsigned result, Value value, StringRef role);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_TOTALS_H
