//===- OwnRows.h - whether each sample reads rows of its own --------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_OWNROWS_H
#define ZEROGRAPH_PASSES_IR_NN_OWNROWS_H

#include "passes/ir/nn/Samples.h"

namespace mlir::zg::nn {

/// Returns the dimension of the row numbers `rows` by which each of so many
/// samples reads rows of its own in a table of `size` rows, in whose front the
/// samples are; nothing if none can be found. `from` says where the numbers
/// have samples themselves. A term of the sum that they are is the place of the
/// sample times the rows that it has, and the others stay within these.
std::optional<int64_t> ownRows(Value rows, Samples from, int64_t samples,
                               int64_t size);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_OWNROWS_H
