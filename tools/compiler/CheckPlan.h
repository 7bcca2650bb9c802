//===- CheckPlan.h - whether a plan has what options asked for ------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_CHECKPLAN_H
#define ZEROGRAPH_TOOLS_COMPILER_CHECKPLAN_H

#include "tools/compiler/Compile.h"

namespace zerograph {

/// INVALID_ARGUMENT where a pattern of `--units` or `--group` matches nothing
/// of `result.plan`: a slip of the pen. Adds warnings of what had no effect,
/// and notes of what the options made.
absl::Status checkPlan(const CompileOptions &options, CompileResult &result);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_CHECKPLAN_H
