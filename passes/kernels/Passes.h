//===- Passes.h - passes that form kernels out of nn ops ------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_PASSES_H
#define ZEROGRAPH_PASSES_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::zg::nn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/kernels/Passes.h.inc"

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_KERNELS_PASSES_H
