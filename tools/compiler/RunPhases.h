//===- RunPhases.h - the passes of a compilation --------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_RUNPHASES_H
#define ZEROGRAPH_TOOLS_COMPILER_RUNPHASES_H

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Pipelines.h"
#include "tools/compiler/Diagnostics.h"
#include "tools/compiler/DumpDirectory.h"

#include <functional>
#include <string>
#include <vector>

namespace zerograph {

/// Runs `phases` on `module` in turn. The IR after each is dumped, also of one
/// that fails; if `verify`, it is verified first. `done` is told the name of
/// each that succeeds.
absl::Status runPhases(
    const std::vector<mlir::zg::Phase> &phases, mlir::ModuleOp module,
    DumpDirectory &dump, const Diagnostics &diagnostics, bool verify,
    const std::function<void(const std::string &)> &done = [](auto &) {});

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_RUNPHASES_H
