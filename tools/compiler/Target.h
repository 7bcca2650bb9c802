//===- Target.h - the device that a plan is compiled for ------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_TARGET_H
#define ZEROGRAPH_TOOLS_COMPILER_TARGET_H

#include "codegen/plan/DeviceCode.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/analysis/TargetInfo.h"
#include "tools/compiler/Compile.h"

#include "absl/status/statusor.h"

#include <memory>

namespace zerograph {

/// The parts that a device brings: the answers that passes ask for, and the
/// code.
struct Target {
  std::unique_ptr<mlir::zg::TargetInfo> info;
  std::unique_ptr<mlir::zg::DeviceCode> code;
  /// The code of the host that helps the device.
  std::unique_ptr<mlir::zg::DeviceCode> helper;
  /// Notes that users of such plans should read.
  std::vector<std::string> notes;
};

/// Opens the target of --target, --matmul and --convolution. `convolves`: the
/// model does; the default of --convolution looks for cuDNN then. The context
/// outlives it.
absl::StatusOr<Target> openTarget(const CompileOptions &options, bool convolves,
                                  mlir::MLIRContext *context);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_TARGET_H
