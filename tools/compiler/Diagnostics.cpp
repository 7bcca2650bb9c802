//===- Diagnostics.cpp - MLIR's diagnostics as a status -------------------===//

#include "tools/compiler/Diagnostics.h"

#include "absl/strings/str_cat.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/NNDialect.h"
#include "runtime/base/Text.h"

namespace zerograph {

Diagnostics::Diagnostics(mlir::MLIRContext &context)
    : handler(&context, [this](mlir::Diagnostic &diagnostic) {
        std::string message = diagnostic.str();
        std::string name = mlir::zg::nn::describe(diagnostic.getLocation());
        if (!name.empty()) {
          message = absl::StrCat(name, ": ", message);
        }
        for (mlir::Diagnostic &note : diagnostic.getNotes()) {
          absl::StrAppend(&message, " (", note.str(), ")");
        }
        switch (diagnostic.getSeverity()) {
        case mlir::DiagnosticSeverity::Error:
          errors.push_back(std::move(message));
          break;
        case mlir::DiagnosticSeverity::Warning:
          warnings.push_back(std::move(message));
          break;
        case mlir::DiagnosticSeverity::Remark:
          remarks.push_back(std::move(message));
          break;
        case mlir::DiagnosticSeverity::Note:
          break;
        }
      }) {}

absl::Status Diagnostics::status(const std::string &during) const {
  if (errors.empty()) {
    return absl::InternalError(
        absl::StrCat("the compiler failed ", during, " and said nothing"));
  }
  // A user's mistake is found by the importer or names a node; what a verify
  // pass finds is the compiler's own.
  return absl::FailedPreconditionError(
      absl::StrCat(during, ":\n  ", linesOf(errors)));
}

} // namespace zerograph
