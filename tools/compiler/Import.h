//===- Import.h - the model of a compilation ------------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_IMPORT_H
#define ZEROGRAPH_TOOLS_COMPILER_IMPORT_H

#include "frontend/Import.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/compiler/Compile.h"
#include "tools/compiler/SavedImport.h"

namespace zerograph {

/// Returns what the frontend takes of the options. INVALID_ARGUMENT names a
/// `--lora` that is not one.
absl::StatusOr<frontend::ImportOptions>
importOptionsOf(const CompileOptions &options);

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string loss_output; // empty: to be run forward
};

/// Imports the model, and its evaluation if there is to be one, or takes the
/// one that `options.imported` has. What the frontend says goes to `result`;
/// `options.precision` becomes the model's own where nobody asked for one.
absl::StatusOr<ImportedModel> importForPlan(mlir::MLIRContext &context,
                                            CompileOptions &options,
                                            CompileResult &result);

/// Returns the module of an import.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
parseImport(mlir::MLIRContext &context, const SavedImport &saved);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_IMPORT_H
