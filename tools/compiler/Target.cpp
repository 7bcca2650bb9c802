//===- Target.cpp - the device that a plan is compiled for ----------------===//

#include "tools/compiler/Target.h"

#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/CudaTargetInfo.h"
#include "codegen/host/HostCode.h"
#include "codegen/host/HostTargetInfo.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDriver.h"
#include "runtime/device/cuda/CudnnApi.h"
#include "runtime/device/host/LibraryCall.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

using namespace zerograph;
namespace zg = mlir::zg;

namespace {

/// The library or our own code that convolves on CUDA, and what to say of it
/// where nobody has chosen.
struct Convolver {
  bool library = false;
  std::string note{};
};

Convolver convolverOf(const CompileOptions &options,
                      absl::string_view architecture, bool convolves) {
  if (!options.convolution.empty()) {
    return {options.convolution == "library"};
  }
  if (!convolves || options.matmul == "generated") {
    return {}; // nobody; or for the bits that no library decides
  }
  constexpr char kChoose[] =
      "convolutions become products of matrices, without cuDNN: ";
  if (architecture == absl::string_view(zg::kEmulated.data())) {
    return {false, absl::StrCat(kChoose, "give --convolution library for it")};
  }
  if (auto found = cudnnApi(); !found.ok()) {
    return {false, absl::StrCat(kChoose, found.status().message(),
                                "; or give --convolution library, for a "
                                "machine that has it")};
  }
  return {true, "plans for CUDA convolve by cuDNN, which is on this machine; "
                "--convolution generated does without"};
}

/// Makes the code of the host that helps a device: it makes updates, and calls
/// no library.
std::unique_ptr<zg::DeviceCode> helperCode(mlir::MLIRContext *context,
                                           zg::HostTarget target) {
  target.library = false;
  return std::make_unique<zg::HostCode>(context, target);
}

absl::Status refused(const CompileOptions &options, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--target ", options.target, ": ", why));
}

absl::StatusOr<Target> openCuda(const CompileOptions &options,
                                std::string architecture, bool convolves,
                                mlir::MLIRContext *context) {
  std::string error;
  if (architecture == "native") {
    ZG_ASSIGN_OR_RETURN(architecture, nativeArchitecture());
  }
  auto target = zg::parseCudaTarget(architecture, error);
  if (mlir::failed(target)) {
    return refused(options, error);
  }
  Convolver convolver = convolverOf(options, architecture, convolves);
  target->library = options.matmul == "library";
  target->convolution = convolver.library;
  target->allowTf32 = options.allow_tf32;
  target->anyOrder = options.reduction == "nccl";
  if (target->anyOrder && options.ranks == 1) {
    return absl::InvalidArgumentError(
        "--reduction nccl: one rank has nothing to add up; leave it out, or "
        "give --ranks");
  }
  // The machine with the GPU may have another processor than this one.
  auto host = zg::parseHostTarget("x86-64-v3", error);
  if (mlir::failed(host)) {
    return refused(options, error);
  }
  Target cuda{std::make_unique<zg::CudaTargetInfo>(*target),
              std::make_unique<zg::CudaCode>(context, *target),
              helperCode(context, *host),
              {}};
  if (target->library) {
    cuda.notes.push_back("plans for CUDA multiply matrices by cuBLASLt");
  }
  if (!convolver.note.empty()) {
    cuda.notes.push_back(std::move(convolver.note));
  }
  return cuda;
}

absl::StatusOr<Target> openHost(const CompileOptions &options,
                                const std::string &processor,
                                mlir::MLIRContext *context) {
  std::string error;
  auto target = zg::parseHostTarget(processor, error);
  if (mlir::failed(target)) {
    return refused(options, error);
  }
  bool library = options.matmul == "library";
  bool convolution =
      options.convolution.empty() ? library : options.convolution == "library";
  target->library = library || convolution;
  if (target->library && !limitIsa(target->isa).ok()) {
    return refused(options,
                   absl::StrCat("oneDNN uses ", effectiveIsa(),
                                " in this process, and the target means ",
                                target->isa,
                                "; compile on a machine that has it, or with "
                                "--matmul generated"));
  }
  Target host{std::make_unique<zg::HostTargetInfo>(library, convolution),
              std::make_unique<zg::HostCode>(context, *target),
              helperCode(context, *target),
              {}};
  bool multiplies = options.precision == "bf16" && multipliesBf16();
  if (options.precision != "fp32" && library && !multiplies) {
    host.notes.push_back(
        absl::StrCat("products of ", options.precision,
                     " are computed in f32, and rounded: oneDNN has none for ",
                     effectiveIsa()));
  }
  return host;
}

} // namespace

absl::StatusOr<Target> zerograph::openTarget(const CompileOptions &options,
                                             bool convolves,
                                             mlir::MLIRContext *context) {
  absl::string_view name = options.target;
  if (absl::ConsumePrefix(&name, "cuda:")) {
    return openCuda(options, std::string(name), convolves, context);
  }
  if (name == "host") {
    return openHost(options, "native", context);
  }
  if (absl::ConsumePrefix(&name, "host:")) {
    return openHost(options, std::string(name), context);
  }
  return refused(options, "there are host:native, host:x86-64-v3, "
                          "host:x86-64-v4, cuda:native, cuda:sm_80 and "
                          "cuda:sm_90");
}
