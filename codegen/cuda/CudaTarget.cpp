//===- CudaTarget.cpp - the GPUs that kernels are made for ----------------===//

#include "codegen/cuda/CudaTarget.h"

using namespace mlir;
using namespace mlir::zg;

FailureOr<CudaTarget> zg::parseCudaTarget(StringRef text, std::string &error) {
  if (text == "sm_80" || text == "sm_90" || text == kEmulated) {
    CudaTarget target;
    target.architecture = text.str();
    return target;
  }
  error = "unknown CUDA architecture '" + text.str() +
          "'; known are sm_80 (A100 and later) and sm_90 (H100 and later)";
  return failure();
}
