//===- CudaCode.h - what CUDA brings to a plan ----------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_CUDACODE_H
#define ZEROGRAPH_CODEGEN_CUDA_CUDACODE_H

#include "codegen/cuda/CudaModule.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/plan/DeviceCode.h"

namespace mlir::zg {

/// One module of PTX for `target`, which any driver of that architecture or a
/// later one compiles.
class CudaCode final : public DeviceCode {
public:
  /// Loads the dialects code generation needs into the context.
  CudaCode(MLIRContext *context, CudaTarget target)
      : target(std::move(target)), context(context),
        kernels(context, this->target.library, this->target.fastMath) {}

  LogicalResult add(Operation *op, zerograph::plan::Kernel &kernel) override;
  void describe(zerograph::plan::Plan &plan) const override;
  LogicalResult finish(zerograph::plan::Plan &plan) override;

private:
  CudaTarget target;
  MLIRContext *context;
  CudaModuleBuilder kernels;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_CUDA_CUDACODE_H
