//===- OpenHost.cpp - --target host:... -----------------------------------===//

#include "codegen/host/OpenHost.h"

#include "codegen/host/HostCode.h"
#include "codegen/host/HostTargetInfo.h"
#include "runtime/device/host/LibraryCall.h"

using namespace mlir;
using namespace mlir::zg;

static absl::StatusOr<HostTarget> parse(const TargetOptions &asked,
                                        const std::string &processor) {
  std::string error;
  FailureOr<HostTarget> target = parseHostTarget(processor, error);
  if (failed(target)) {
    return asked.refused(error);
  }
  return *target;
}

absl::StatusOr<std::unique_ptr<DeviceCode>>
zg::makeHelper(const TargetOptions &asked, const std::string &processor) {
  ZG_ASSIGN_OR_RETURN(HostTarget target, parse(asked, processor));
  target.library = false;
  return std::make_unique<HostCode>(asked.context, target);
}

absl::StatusOr<Target> zg::openHost(const TargetOptions &asked) {
  ZG_ASSIGN_OR_RETURN(HostTarget target, parse(asked, asked.architecture));
  const zerograph::options::Compile &options = asked.options;
  bool library = options.matmul == "library";
  bool convolution =
      options.convolution.empty() ? library : options.convolution == "library";
  target.library = library || convolution;
  if (target.library && !zerograph::limitIsa(target.isa).ok()) {
    return asked.refused(absl::StrCat(
        "oneDNN uses ", zerograph::effectiveIsa(),
        " in this process, as this machine has no less or something before "
        "asked for it, and the target means ",
        target.isa, "; compile in a process of its own, on a machine that has ",
        target.isa, ", or with --matmul generated"));
  }
  bool multiplies = options.precision == "bf16" && zerograph::multipliesBf16();
  if (library && multiplies) {
    multiplyBf16(target, zerograph::hasAmx());
  }
  Target host;
  host.info = std::make_unique<HostTargetInfo>(library, convolution);
  host.code = std::make_unique<HostCode>(asked.context, target);
  ZG_ASSIGN_OR_RETURN(host.helper, makeHelper(asked, asked.architecture));
  if (options.precision != "fp32" && library && !multiplies) {
    host.notes.push_back(
        absl::StrCat("products of ", options.precision,
                     " are computed in f32, and rounded: oneDNN has none for ",
                     zerograph::effectiveIsa()));
  }
  return host;
}
