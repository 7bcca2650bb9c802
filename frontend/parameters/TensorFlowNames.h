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

/// Says what tf2onnx made an initializer of.
enum class Origin {
  variable, ///< "dense/Add/ReadVariableOp:0"
  arranged, ///< "conv/Squeeze:0": a variable in another shape, or a constant
  constant, ///< "rescale/Const:0"
  unknown
};

/// Returns what the name tells.
Origin originOf(const std::string &name);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_TENSORFLOWNAMES_H
