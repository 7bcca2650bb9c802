//===- Padding.h - a row that a lookup does not train ---------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_PADDING_H
#define ZEROGRAPH_PASSES_IR_NN_PADDING_H

#include "llvm/ADT/StringRef.h"

namespace mlir::zg::nn {

/// On an nn.gather: an i64, the row of the table that gets no gradient from
/// this lookup, as that of an embedding's padding_idx.
inline constexpr llvm::StringLiteral kPaddingAttr = "nn.padding";

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_PADDING_H
