//===- Target.h - the device that a plan is compiled for ------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_TARGET_H
#define ZEROGRAPH_TOOLS_COMPILER_TARGET_H

#include "codegen/plan/Target.h"

namespace zerograph {

/// Opens the target of --target. `convolves`: the model does. The context
/// outlives it.
absl::StatusOr<mlir::zg::Target> openTarget(const options::Compile &options,
                                            bool convolves,
                                            mlir::MLIRContext *context);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_TARGET_H
