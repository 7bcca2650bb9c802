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

/// Who convolves on CUDA, and what to say of it where nobody has chosen.
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

/// Of the host that helps a device: it makes updates, and calls no library.
std::unique_ptr<zg::DeviceCode> helperCode(mlir::MLIRContext *context,
                                           zg::HostTarget target) {
  target.library = false;
  return std::make_unique<zg::HostCode>(context, target);
}

} // namespace

absl::StatusOr<Target> zerograph::openTarget(const CompileOptions &options,
                                             bool convolves,
                                             mlir::MLIRContext *context) {
  absl::string_view name = options.target;
  auto refused = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("--target ", options.target, ": ", why));
  };
  std::string error;
  if (absl::ConsumePrefix(&name, "cuda:")) {
    std::string architecture(name);
    if (architecture == "native") {
      ZG_ASSIGN_OR_RETURN(architecture, nativeArchitecture());
    }
    auto target = zg::parseCudaTarget(architecture, error);
    if (mlir::failed(target)) {
      return refused(error);
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
      return refused(error);
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
  if (!absl::ConsumePrefix(&name, "host:") && name != "host") {
    return refused("there are host:native, host:x86-64-v3, host:x86-64-v4, "
                   "cuda:native, cuda:sm_80 and cuda:sm_90");
  }
  if (options.reduction == "nccl") {
    return absl::InvalidArgumentError(
        absl::StrCat("--reduction nccl is for --target cuda:..., on which NCCL "
                     "runs; --target is ",
                     options.target));
  }
  auto target =
      zg::parseHostTarget(name == "host" ? "native" : std::string(name), error);
  if (mlir::failed(target)) {
    return refused(error);
  }
  bool library = options.matmul == "library";
  bool convolution =
      options.convolution.empty() ? library : options.convolution == "library";
  target->library = library || convolution;
  if (target->library && !zerograph::limitIsa(target->isa).ok()) {
    return refused(absl::StrCat("oneDNN uses ", zerograph::effectiveIsa(),
                                " in this process, and the "
                                "target means ",
                                target->isa,
                                "; compile on a machine that has it, or "
                                "with --matmul generated"));
  }
  Target host{std::make_unique<zg::HostTargetInfo>(library, convolution),
              std::make_unique<zg::HostCode>(context, *target),
              helperCode(context, *target),
              {}};
  bool multiplies = options.precision == "bf16" && zerograph::multipliesBf16();
  if (options.precision != "fp32" && library && !multiplies) {
    host.notes.push_back(
        absl::StrCat("products of ", options.precision,
                     " are computed in f32, and rounded: oneDNN has none for ",
                     zerograph::effectiveIsa()));
  }
  return host;
}
