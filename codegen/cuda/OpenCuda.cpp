//===- OpenCuda.cpp - --target cuda:... -----------------------------------===//

#include "codegen/cuda/OpenCuda.h"

#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/CudaTargetInfo.h"
#include "codegen/host/OpenHost.h"
#include "runtime/device/cuda/CudaDriver.h"
#include "runtime/device/cuda/CudnnApi.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

/// The library or our own code that convolves on CUDA, and what to say of it
/// where nobody has chosen.
struct Convolver {
  bool library = false;
  std::string note{};
};

Convolver convolverOf(const TargetOptions &asked) {
  const zerograph::options::Compile &options = asked.options;
  if (!options.convolution.empty()) {
    return {options.convolution == "library"};
  }
  if (!asked.convolves || options.matmul == "generated") {
    return {}; // nobody; or for the bits that no library decides
  }
  constexpr char kChoose[] =
      "convolutions become products of matrices, without cuDNN: ";
  if (asked.architecture == kEmulated) {
    return {false, absl::StrCat(kChoose, "give --convolution library for it")};
  }
  if (auto found = zerograph::cudnnApi(); !found.ok()) {
    return {false, absl::StrCat(kChoose, found.status().message(),
                                "; or give --convolution library, for a "
                                "machine that has it")};
  }
  return {true, "plans for CUDA convolve by cuDNN, which is on this machine; "
                "--convolution generated does without"};
}

} // namespace

absl::StatusOr<Target> zg::openCuda(const TargetOptions &asked) {
  const zerograph::options::Compile &options = asked.options;
  std::string error, architecture = asked.architecture;
  if (architecture == "native") {
    ZG_ASSIGN_OR_RETURN(architecture, zerograph::nativeArchitecture());
  }
  FailureOr<CudaTarget> target = parseCudaTarget(architecture, error);
  if (failed(target)) {
    return asked.refused(error);
  }
  Convolver convolver = convolverOf(asked);
  target->library = options.matmul == "library";
  target->convolution = convolver.library;
  target->allowTf32 = options.allow_tf32;
  target->fastMath = options.math == "fast";
  target->anyOrder = options.reduction == "nccl";
  if (target->anyOrder && options.ranks == 1) {
    return absl::InvalidArgumentError(
        "--reduction nccl: one rank has nothing to add up; leave it out, or "
        "give --ranks");
  }
  Target cuda;
  cuda.info = std::make_unique<CudaTargetInfo>(*target);
  cuda.code = std::make_unique<CudaCode>(asked.context, *target);
  // The machine with the GPU may have another processor than this one.
  ZG_ASSIGN_OR_RETURN(cuda.helper, makeHelper(asked, "x86-64-v3"));
  if (target->library) {
    cuda.notes.push_back("plans for CUDA multiply matrices by cuBLASLt");
  }
  if (!convolver.note.empty()) {
    cuda.notes.push_back(std::move(convolver.note));
  }
  return cuda;
}
