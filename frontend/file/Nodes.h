//===- Nodes.h - the nodes of a graph and of its bodies -------------------===//

#ifndef ZEROGRAPH_FRONTEND_FILE_NODES_H
#define ZEROGRAPH_FRONTEND_FILE_NODES_H

#include "onnx/onnx_pb.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace zerograph::frontend {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Calls `visit` for each body of the node: its branches, or what it repeats.
void eachBody(onnx::NodeProto &node,
              llvm::function_ref<void(onnx::GraphProto &)> visit);

/// Calls `visit` for the list, which it may replace, then for those of the
/// bodies of its nodes.
void eachNodes(Nodes &nodes, llvm::function_ref<void(Nodes &)> visit);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_FILE_NODES_H
