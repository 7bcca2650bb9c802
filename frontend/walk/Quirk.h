//===- Quirk.h - what is declared about each habit of an exporter ---------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_QUIRK_H
#define ZEROGRAPH_FRONTEND_WALK_QUIRK_H

#include "frontend/Import.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"

#include "llvm/ADT/ArrayRef.h"

namespace zerograph::frontend {

class Op;

/// A model of which it is known what is to be trained.
struct TrainedModel {
  const ModelFile &file;
  const Graph &graph;
  const ImportOptions &options;
  /// Names the loss; if one is added, the value that it is of.
  const std::string &loss;
  const std::set<std::string> &trained; ///< initializers that training changes
  /// Gets what is worth saying and refuses nothing.
  ImportReport &report;
};

/// A reason not to train a file as it is.
struct Finding {
  std::string what; ///< is a warning if the user allows an exporter's damage
  /// Follows `what` in the error: says what to do. Empty: it is a warning only.
  std::string remedy = {};
};

/// A habit of an exporter: what is recognized, and what is done about it. Each
/// of the functions may be null.
struct Quirk {
  /// Rewrites the model as it stands in the file, of which nothing but the
  /// versions has been checked yet.
  void (*repair)(ModelFile &file) = nullptr;
  /// Returns why training the file would not be training the exported model.
  /// Throws ImportError for what --allow-exporter-damage does not allow.
  std::vector<Finding> (*find)(const TrainedModel &model) = nullptr;
  /// Throws ImportError if a node, whose inputs' types and shapes are known,
  /// cannot be imported.
  void (*checkNode)(Op &op) = nullptr;
};

/// Returns all quirks in the order in which they are looked for.
llvm::ArrayRef<const Quirk *> quirks();

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_QUIRK_H
