//===- Body.h - the names inside of a node's body -------------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_BODY_H
#define ZEROGRAPH_FRONTEND_WALK_BODY_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace zerograph::frontend {

/// Calls `rename` on each name that the node reads or defines, and on those
/// that its own bodies read from around them.
void renameNode(onnx::NodeProto &node,
                llvm::function_ref<void(std::string &)> rename);

/// Calls `visit` on the node and on all nodes of its bodies.
void visitNodes(onnx::NodeProto &node,
                llvm::function_ref<void(onnx::NodeProto &)> visit);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_BODY_H
