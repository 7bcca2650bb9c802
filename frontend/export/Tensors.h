//===- Tensors.h - the tensors of a model, wherever they stand ------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORT_TENSORS_H
#define ZEROGRAPH_FRONTEND_EXPORT_TENSORS_H

#include "frontend/file/Nodes.h"

#include <map>
#include <string>

namespace zerograph::frontend {

/// Calls `visit` for the node lists of the graph, of the bodies of its nodes,
/// and of functions, each once.
void eachNodes(onnx::ModelProto &model,
               llvm::function_ref<void(Nodes &)> visit);

/// Calls `visit` for every tensor: initializers and attributes, also those of
/// bodies and functions.
void eachTensor(onnx::ModelProto &model,
                llvm::function_ref<void(onnx::TensorProto &)> visit);

/// Returns the tensors that a weight file may name: initializers of the graph
/// and of its bodies, and the values of its Constant nodes, by the name of the
/// result.
std::map<std::string, onnx::TensorProto *>
namedTensors(onnx::GraphProto &graph);

/// Puts other values, little-endian bytes of its type, into an embedded tensor,
/// in the field that holds them now.
void setValues(onnx::TensorProto &tensor, const std::string &bytes);

/// "'a', 'b', 'c' and 4 more".
std::string listNames(const std::vector<std::string> &names);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORT_TENSORS_H
