//===- CheckPlan.h - whether a plan has what options asked for ------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_CHECKPLAN_H
#define ZEROGRAPH_TOOLS_COMPILER_CHECKPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/compiler/Compile.h"
#include "tools/compiler/Diagnostics.h"

namespace zerograph {

/// RESOURCE_EXHAUSTED where a rank needs more than `--memory`. All buffers of
/// the module have their places.
absl::Status checkMemory(const CompileOptions &options, mlir::ModuleOp module,
                         Diagnostics &diagnostics);

/// Returns how many bytes more than `--memory` a rank needs, as such an error
/// knows; 0 for another status.
int64_t missingBytes(const absl::Status &status);

/// Returns how many bytes the arena of a rank's device has; of a plan that is
/// refused, as the error of checkMemory knows.
int64_t deviceBytes(mlir::ModuleOp module);
int64_t deviceBytes(const absl::Status &status);

/// INVALID_ARGUMENT where a pattern of `--units` or `--group` matches nothing
/// of `result.plan`: a slip of the pen. Adds warnings of what had no effect,
/// and notes of what the options made.
absl::Status checkPlan(const CompileOptions &options, CompileResult &result);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_CHECKPLAN_H
