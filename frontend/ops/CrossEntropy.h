//===- CrossEntropy.h - binary cross entropy of probabilities -------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_CROSSENTROPY_H
#define ZEROGRAPH_FRONTEND_OPS_CROSSENTROPY_H

#include "frontend/walk/Op.h"

namespace zerograph::frontend {

/// The result of a Sub that ends a binary cross entropy of p and t, as PyTorch
/// decomposes it: (t - 1) * max(log(1 - p), -100) - t * max(log(p), -100). Its
/// gradient in PyTorch is (p - t) / max((1 - p) * p, 1e-12), which is finite
/// where p is 0 or 1, as that of these nodes is not. Null if it is another Sub,
/// or if p is a sigmoid, whose logarithms StableLog.h makes finite.
mlir::Value binaryCrossEntropy(Op &sub);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_CROSSENTROPY_H
