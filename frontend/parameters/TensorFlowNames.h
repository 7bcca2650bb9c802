//===- TensorFlowNames.h - what tf2onnx's names tell of a tensor ----------===//

#ifndef ZEROGRAPH_FRONTEND_PARAMETERS_TENSORFLOWNAMES_H
#define ZEROGRAPH_FRONTEND_PARAMETERS_TENSORFLOWNAMES_H

#include "onnx/onnx_pb.h"

#include <string>

namespace zerograph::frontend {

/// Returns whether tf2onnx wrote the model, as it does for Keras, of one that
/// has variables. It lists no parameters, and names an initializer by the node
/// of TensorFlow that made it. (Of a model from JAX all weights are constants.)
bool isOfTensorFlow(const onnx::GraphProto &graph);

/// Returns whether the name is that of a variable of TensorFlow, perhaps in
/// another shape: "dense/Add/ReadVariableOp:0".
bool isTensorFlowVariable(const std::string &name);

/// Returns whether the name is that of a constant of TensorFlow.
bool isTensorFlowConstant(const std::string &name);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_TENSORFLOWNAMES_H
