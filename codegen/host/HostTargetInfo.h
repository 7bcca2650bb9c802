//===- HostTargetInfo.h - what passes ask of the host ---------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_HOSTTARGETINFO_H
#define ZEROGRAPH_CODEGEN_HOST_HOSTTARGETINFO_H

#include "passes/analysis/TargetInfo.h"

namespace mlir::zg {

/// Products of matrices and convolutions by oneDNN, as runtime/device/host
/// makes them, with this machine's library and instruction set; or by generated
/// kernels.
class HostTargetInfo final : public TargetInfo {
public:
  HostTargetInfo() = default;
  HostTargetInfo(bool library, bool convolution)
      : library(library), convolution(convolution) {}

  /// The host has a form for attention; of other composites it fuses core ops.
  bool keeps(nn::Composite composite, RankedTensorType) const override {
    return composite == nn::Composite::attention;
  }
  bool hasMatmul(Type elementType) const override;
  bool copiesTransposed(Type elementType) const override {
    return library && elementType.isF32();
  }
  bool hasConvolution(Type elementType) const override;
  llvm::FailureOr<int64_t>
  matmulScratchBytes(const MatmulShape &shape,
                     std::string &error) const override;
  llvm::FailureOr<int64_t>
  convolutionScratchBytes(const nn::Convolution &convolution,
                          std::string &error) const override;

private:
  bool library = true, convolution = true;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_HOST_HOSTTARGETINFO_H
