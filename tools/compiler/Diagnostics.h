//===- Diagnostics.h - MLIR's diagnostics as a status ---------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_DIAGNOSTICS_H
#define ZEROGRAPH_TOOLS_COMPILER_DIAGNOSTICS_H

#include "absl/status/status.h"
#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace zerograph {

/// Collects what is reported in a context while it lives. Each message is
/// prefixed with the ONNX name of the op it is about.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext &context);

  /// All errors so far, one a line; `during` names the phase.
  absl::Status status(const std::string &during) const;

  std::vector<std::string> takeWarnings() { return std::move(warnings); }
  std::vector<std::string> takeRemarks() { return std::move(remarks); }

private:
  std::vector<std::string> errors, warnings, remarks;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_DIAGNOSTICS_H
