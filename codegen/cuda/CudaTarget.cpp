//===- CudaTarget.cpp - the GPUs that kernels are made for ----------------===//

#include "codegen/cuda/CudaTarget.h"

#include "runtime/device/cuda/Architectures.h"

using namespace mlir;
using namespace mlir::zg;

/// Says what is known, and which of it GPUs of `text`, "sm_100", "sm_90a", run.
static std::string whichThereAre(StringRef text) {
  std::string known =
      "known are sm_80 (A100, A10, RTX 30 and later), sm_90 (H100 and later) "
      "and native, for the GPU of this machine";
  int capability = 0;
  if (!text.consume_front("sm_") || text.consumeInteger(10, capability)) {
    return known;
  }
  std::optional<int> fitting = zerograph::architectureFor(capability);
  return fitting ? "plans for sm_" + std::to_string(*fitting) +
                       " run there: give cuda:sm_" + std::to_string(*fitting)
                 : "GPUs before sm_80 are not supported";
}

FailureOr<CudaTarget> zg::parseCudaTarget(StringRef text, std::string &error) {
  bool known = text == kEmulated;
  for (int architecture : zerograph::kArchitectures) {
    known |= text == "sm_" + std::to_string(architecture);
  }
  if (!known) {
    error = "unknown CUDA architecture '" + text.str() + "'; " +
            whichThereAre(text);
    return failure();
  }
  CudaTarget target;
  target.architecture = text.str();
  return target;
}
