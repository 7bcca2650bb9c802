//===- CudaTargetInfo.h - what passes ask of CUDA -------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_CUDATARGETINFO_H
#define ZEROGRAPH_CODEGEN_CUDA_CUDATARGETINFO_H

#include "passes/analysis/TargetInfo.h"

namespace mlir::zg {

/// Everything by generated kernels; there is no library yet.
class CudaTargetInfo final : public TargetInfo {
public:
  bool keeps(nn::Composite, RankedTensorType) const override { return false; }
  bool hasMatmul(Type) const override { return false; }
  bool hasConvolution(Type) const override { return false; }
  llvm::FailureOr<int64_t> matmulScratchBytes(const MatmulShape &,
                                              std::string &) const override;
  llvm::FailureOr<int64_t>
  convolutionScratchBytes(const nn::Convolution &,
                          std::string &) const override;
  llvm::FailureOr<int64_t> kernelScratchBytes(Operation *op) const override;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_CUDA_CUDATARGETINFO_H
