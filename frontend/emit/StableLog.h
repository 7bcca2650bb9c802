//===- StableLog.h - logarithms of what exponentials make -----------------===//
//
// PyTorch computes log-sigmoid, softplus and their like so that nothing
// overflows or vanishes on the way. Its exporters write what these functions
// mean, as log(sigmoid(x)), which is minus infinity at -90 in float32 and has
// no gradient at 20. Here such forms are found among the nn ops that compute a
// value, and computed as PyTorch does.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_STABLELOG_H
#define ZEROGRAPH_FRONTEND_EMIT_STABLELOG_H

#include "frontend/emit/Emitter.h"

namespace zerograph::frontend {

/// A value, and what was found to be computed stably; null if nothing was.
struct StableForm {
  mlir::Value value;
  std::string form; ///< for people: "log(sigmoid(x))"; "" if only digits were
                    ///< to be saved
};

/// log(x), if x is made by
///   - a sigmoid, 1 minus a sigmoid, or a softmax;
///   - a sum of exponentials and positive constants, or its multiple, if the
///     exponents are not bounded by subtracting a maximum;
///   - 1 + y: log1p(y);
/// maybe seen through views, as a gather of the labels' places is.
StableForm stableLog(Emitter &emit, mlir::Value x);

/// a - b if it is exp(x) - 1, of which a small x would leave no digits; else
/// null.
mlir::Value preciseDifference(Emitter &emit, mlir::Value a, mlir::Value b);

/// a - b for a binary cross entropy with logits, t * x - w * log(sigmoid(x))
/// with or without w: here two large numbers would cancel. The logarithm is one
/// that stableLog gave.
StableForm stableCrossEntropy(Emitter &emit, mlir::Value a, mlir::Value b);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_STABLELOG_H
