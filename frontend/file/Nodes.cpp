//===- Nodes.cpp - the nodes of a graph and of its bodies -----------------===//

#include "frontend/file/Nodes.h"

namespace zerograph::frontend {

void eachBody(onnx::NodeProto &node,
              llvm::function_ref<void(onnx::GraphProto &)> visit) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      visit(*attribute.mutable_g());
    }
    for (onnx::GraphProto &graph : *attribute.mutable_graphs()) {
      visit(graph);
    }
  }
}

void eachNodes(Nodes &nodes, llvm::function_ref<void(Nodes &)> visit) {
  visit(nodes);
  for (onnx::NodeProto &node : nodes) {
    eachBody(node, [&](onnx::GraphProto &body) {
      eachNodes(*body.mutable_node(), visit);
    });
  }
}

} // namespace zerograph::frontend
