//===- Exponentials.h - logarithms of sums of exponentials ----------------===//
//
// Nothing overflows on the way to these values, nor to their gradients.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_EXPONENTIALS_H
#define ZEROGRAPH_FRONTEND_EMIT_EXPONENTIALS_H

#include "frontend/emit/Emitter.h"

namespace zerograph::frontend {

/// log(1 + exp(x)).
mlir::Value softplus(Emitter &emit, mlir::Value x);

/// log(exp(x) + exp(y)).
mlir::Value logAddExp(Emitter &emit, mlir::Value x, mlir::Value y);

/// log(sum(exp(x))) along `axes`.
mlir::Value logSumExp(Emitter &emit, mlir::Value x,
                      const std::vector<int64_t> &axes, bool keepDims);

/// log(softmax(x)), along the last axis.
mlir::Value logSoftmax(Emitter &emit, mlir::Value x);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_EXPONENTIALS_H
