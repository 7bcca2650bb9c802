//===- ImportContext.h - the parts of one import --------------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_IMPORTCONTEXT_H
#define ZEROGRAPH_FRONTEND_WALK_IMPORTCONTEXT_H

#include "frontend/walk/Arguments.h"
#include "frontend/walk/Constants.h"
#include "frontend/walk/FunctionExpander.h"
#include "frontend/walk/ImportLog.h"
#include "frontend/walk/NodeTable.h"
#include "frontend/walk/ProgramLoss.h"

namespace zerograph::frontend {

/// Holds the parts that the import of one model consists of. They live as long
/// as it, and each may use the others.
struct ImportContext {
  ImportContext(mlir::MLIRContext &context, const ModelFile &file,
                const ImportOptions &options, ImportReport &report);
  ImportContext(const ImportContext &) = delete;

  const ModelFile &file;
  const ImportOptions &options;
  ImportReport &report;
  Graph graph;
  mlir::OpBuilder builder; ///< adds ops at the end of the program
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *body; ///< of the program
  ImportLog log;
  Constants constants;
  NodeTable nodes;
  Arguments arguments;
  ProgramLoss loss;
  FunctionExpander functions;
  /// Gives the next op that draws random numbers numbers of its own: 0, 1, ...
  /// in the order of the walk.
  int64_t randomNumbers = 0;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_IMPORTCONTEXT_H
