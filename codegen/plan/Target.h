//===- Target.h - the device that a plan is compiled for ------------------===//

#ifndef ZEROGRAPH_CODEGEN_PLAN_TARGET_H
#define ZEROGRAPH_CODEGEN_PLAN_TARGET_H

#include "codegen/plan/DeviceCode.h"
#include "options/Options.h"
#include "passes/analysis/TargetInfo.h"
#include "runtime/base/Status.h"

#include <memory>

namespace mlir::zg {

/// The parts that a device brings: the answers that passes ask for, and the
/// code.
struct Target {
  std::unique_ptr<TargetInfo> info;
  std::unique_ptr<DeviceCode> code;
  /// The code of the host that helps the device.
  std::unique_ptr<DeviceCode> helper;
  /// Notes that users of such plans should read.
  std::vector<std::string> notes;
};

/// A request to a device's folder: --target, after whose colon is
/// `architecture`, and the options of who multiplies, convolves and adds up.
struct TargetOptions {
  const zerograph::options::Compile &options;
  std::string architecture;
  /// The model has convolutions: where nobody has said who convolves, the
  /// device may look for a library.
  bool convolves = false;
  /// Outlives the target.
  MLIRContext *context = nullptr;

  /// Returns the error of a --target that cannot be.
  absl::Status refused(absl::string_view why) const {
    return absl::InvalidArgumentError(
        absl::StrCat("--target ", options.target, ": ", why));
  }
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_PLAN_TARGET_H
