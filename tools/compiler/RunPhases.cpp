//===- RunPhases.cpp - the passes of a compilation ------------------------===//

#include "tools/compiler/RunPhases.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/Status.h"

absl::Status
zerograph::runPhases(const std::vector<mlir::zg::Phase> &phases,
                     mlir::ModuleOp module, DumpDirectory &dump,
                     const Diagnostics &diagnostics, bool verify,
                     const std::function<void(const std::string &)> &done) {
  for (const mlir::zg::Phase &phase : phases) {
    mlir::PassManager passes(module.getContext());
    // Once a phase: of a large model it takes longer than most passes.
    passes.enableVerifier(false);
    phase.build(passes);
    mlir::LogicalResult result = passes.run(module);
    if (verify && mlir::succeeded(result)) {
      result = mlir::verify(module);
    }
    ZG_RETURN_IF_ERROR(dump.write(phase.name, module));
    if (mlir::failed(result)) {
      return diagnostics.status("while running phase '" + phase.name + "'");
    }
    done(phase.name);
  }
  return absl::OkStatus();
}
