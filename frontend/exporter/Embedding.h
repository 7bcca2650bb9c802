//===- Embedding.h - how PyTorch trains tables that are looked up in ------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_EMBEDDING_H
#define ZEROGRAPH_FRONTEND_EXPORTER_EMBEDDING_H

#include "frontend/Import.h"
#include "frontend/graph/Graph.h"

#include <optional>

namespace zerograph::frontend {

/// An embedding's padding_idx: the row of the table that gets no gradient from
/// this lookup.
std::optional<int64_t> paddingRow(const onnx::NodeProto &node);

/// Throws ImportError if the newer exporter says that PyTorch trains a table
/// otherwise than the file computes: with gradients scaled by how often an
/// index comes (scale_grad_by_freq), or with rows that each forward pass
/// shortens (max_norm). If the user allows damage, adds a warning instead.
/// `trained`: the initializers that training changes.
void checkEmbeddings(const Graph &graph, const std::set<std::string> &trained,
                     const ImportOptions &options, ImportReport &report);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_EMBEDDING_H
