//===- Passes.h - passes that form kernels out of nn ops ------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_PASSES_H
#define ZEROGRAPH_PASSES_KERNELS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/analysis/TargetInfo.h"
#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

#define GEN_PASS_DECL
#include "passes/kernels/Passes.h.inc"

/// `nn-decompose` for a plain device, see PlainTargetInfo.
std::unique_ptr<Pass> createDecompose();

/// `nn-decompose`, asking `target`, which outlives the pass, what it keeps.
std::unique_ptr<Pass> createDecompose(const TargetInfo &target);

/// `nn-widen-half`, for a plain device and for `target`, which outlives it.
std::unique_ptr<Pass> createWidenHalf();
std::unique_ptr<Pass> createWidenHalf(const TargetInfo &target);

/// `nn-widen-products`, likewise.
std::unique_ptr<Pass> createWidenProducts();
std::unique_ptr<Pass> createWidenProducts(const TargetInfo &target);

#define GEN_PASS_REGISTRATION
#include "passes/kernels/Passes.h.inc"

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_KERNELS_PASSES_H
