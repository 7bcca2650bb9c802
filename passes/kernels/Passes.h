//===- Passes.h - passes that form kernels out of nn ops ------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_PASSES_H
#define ZEROGRAPH_PASSES_KERNELS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/analysis/TargetInfo.h"
#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

#define GEN_PASS_DECL
#include "passes/kernels/Passes.h.inc"

/// The UnitAttr of a product that `nn-transpose-once` may change.
inline constexpr llvm::StringLiteral kNarrowAttr = "nn.narrow";

// These ask `target`, which outlives the pass.

/// `nn-decompose`: what is kept.
std::unique_ptr<Pass> createDecompose(const TargetInfo &target = plainTarget());

/// `nn-widen-half` and `nn-widen-products`: which products the library has.
std::unique_ptr<Pass> createWidenHalf(const TargetInfo &target = plainTarget());
std::unique_ptr<Pass>
createWidenProducts(const TargetInfo &target = plainTarget());

/// `nn-store-beside-columns`: who shares the rows of columns.
std::unique_ptr<Pass>
createStoreBesideColumns(const TargetInfo &target = plainTarget());

/// `nn-join-columns`: whether kernels are launched.
std::unique_ptr<Pass>
createJoinColumns(const TargetInfo &target = plainTarget());

/// `nn-transpose-once`: what the library copies.
std::unique_ptr<Pass>
createTransposeOnce(const TargetInfo &target = plainTarget());

/// `nn-pad-rows`: where rows of a product's matrices should begin.
std::unique_ptr<Pass> createPadRows(const TargetInfo &target = plainTarget());

#define GEN_PASS_REGISTRATION
#include "passes/kernels/Passes.h.inc"

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_KERNELS_PASSES_H
