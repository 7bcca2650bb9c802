//===- Arithmetic.h - arithmetic of two constants -------------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_ARITHMETIC_H
#define ZEROGRAPH_FRONTEND_OPS_ARITHMETIC_H

#include "frontend/ops/Ops.h"

namespace zerograph::frontend {

/// Computes a function of two constants, with broadcasting, in the type of x.
HostTensor foldPair(mlir::zg::nn::BinaryKind kind, const HostTensor &x,
                    const HostTensor &y);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_ARITHMETIC_H
