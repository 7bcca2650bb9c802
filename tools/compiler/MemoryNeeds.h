//===- MemoryNeeds.h - what --memory and offload ask of a plan ------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_MEMORYNEEDS_H
#define ZEROGRAPH_TOOLS_COMPILER_MEMORYNEEDS_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/compiler/Compile.h"
#include "tools/compiler/Diagnostics.h"

namespace zerograph {

/// RESOURCE_EXHAUSTED where a rank needs more than `--memory`. All buffers of
/// the module have their places.
absl::Status checkMemory(const CompileOptions &options, mlir::ModuleOp module,
                         Diagnostics &diagnostics);

/// Adds a warning where there was nothing to offload.
void warnOfOffload(const CompileOptions &options, CompileResult &result);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_MEMORYNEEDS_H
