//===- Program.h - the import of one program ------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_PROGRAM_H
#define ZEROGRAPH_FRONTEND_WALK_PROGRAM_H

#include "frontend/walk/ImportContext.h"

namespace zerograph::frontend {

/// Imports one model as a module with one program; throws ImportError.
///
/// Every ONNX name becomes a Slot: a constant on the host, a value of the
/// program, or, on demand, both. A node whose inputs are all constants is
/// folded: computed while importing. A constant is emitted when a value of the
/// program needs it.
mlir::OwningOpRef<mlir::ModuleOp> importProgram(mlir::MLIRContext &mlir,
                                                const ModelFile &file,
                                                const ImportOptions &options,
                                                ImportReport &report);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_PROGRAM_H
