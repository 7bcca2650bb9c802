//===- CudaTargetInfo.h - what passes ask of CUDA -------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_CUDATARGETINFO_H
#define ZEROGRAPH_CODEGEN_CUDA_CUDATARGETINFO_H

#include "codegen/cuda/CudaTarget.h"
#include "passes/analysis/TargetInfo.h"
#include "runtime/device/cuda/LibraryWorkspace.h"

namespace mlir::zg {

/// Products by cuBLASLt, convolutions by cuDNN, everything else by generated
/// kernels; or all of it. The libraries are not asked, and need not be on the
/// machine that compiles: each gets a workspace by the shape, and chooses among
/// what that is enough for.
class CudaTargetInfo final : public TargetInfo {
public:
  explicit CudaTargetInfo(CudaTarget target) : target(std::move(target)) {}

  /// Attention has a form, whose tiles of f64 would not fit.
  bool keeps(nn::Composite composite, RankedTensorType type) const override {
    return composite == nn::Composite::attention &&
           !type.getElementType().isF64();
  }
  bool hasMatmul(Type elementType) const override;
  int64_t rowAlignment() const override {
    return int64_t(zerograph::kRowAlignment);
  }
  bool hasConvolution(Type elementType) const override;
  llvm::FailureOr<int64_t>
  matmulScratchBytes(const MatmulShape &shape,
                     std::string &error) const override;
  llvm::FailureOr<int64_t>
  convolutionScratchBytes(const nn::Convolution &convolution,
                          std::string &error) const override;
  llvm::FailureOr<int64_t> kernelScratchBytes(Operation *op) const override;
  int64_t exchangeBytes(int64_t ranks) const override;
  bool launchesKernels() const override { return true; }
  bool splitsRowsOfColumns(int64_t rows, int64_t columns,
                           int64_t elementBytes) const override;
  bool stagesSums() const override { return true; }
  bool reducesInAnyOrder() const override { return target.anyOrder; }

private:
  CudaTarget target;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_CUDA_CUDATARGETINFO_H
