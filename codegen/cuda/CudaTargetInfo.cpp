//===- CudaTargetInfo.cpp - what passes ask of CUDA -----------------------===//

#include "codegen/cuda/CudaTargetInfo.h"

#include "codegen/cuda/forms/Forms.h"

using namespace mlir;
using namespace mlir::zg;

FailureOr<int64_t>
CudaTargetInfo::matmulScratchBytes(const MatmulShape &,
                                   std::string &error) const {
  error = "there is no library for products on CUDA yet";
  return failure();
}

FailureOr<int64_t>
CudaTargetInfo::convolutionScratchBytes(const nn::Convolution &,
                                        std::string &error) const {
  error = "there is no library for convolutions on CUDA yet";
  return failure();
}

FailureOr<int64_t> CudaTargetInfo::kernelScratchBytes(Operation *op) const {
  auto kernel = dyn_cast<nn::KernelOp>(op);
  if (!kernel || kernel.getForm() != nn::KernelForm::columns) {
    return 0;
  }
  return cuda::columnsScratchBytes(kernel);
}
