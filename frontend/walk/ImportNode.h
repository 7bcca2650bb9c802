//===- ImportNode.h - the forward walk over the nodes ---------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_IMPORTNODE_H
#define ZEROGRAPH_FRONTEND_WALK_IMPORTNODE_H

#include "frontend/walk/ImportContext.h"

namespace zerograph::frontend {

/// Imports all nodes that outputs need. `onGradientPath` has an entry for each
/// node of the graph. Throws one ImportError with the problems of all nodes.
void importNodes(ImportContext &context,
                 const std::vector<bool> &onGradientPath);

/// Imports one node: checks it against its operator's schema, and computes it
/// if its inputs are constants, else emits it or what it stands for. Throws
/// ImportError. `node` must live as long as `context`.
void importNode(ImportContext &context, const onnx::NodeProto &node);

/// Does the same, but a failure becomes a problem, and the walk can go on.
void tryNode(ImportContext &context, const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_IMPORTNODE_H
