//===- ConstantWeights.h - weights that stand in Constant nodes -----------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_CONSTANTWEIGHTS_H
#define ZEROGRAPH_FRONTEND_EXPORTER_CONSTANTWEIGHTS_H

#include "onnx/onnx_pb.h"

namespace zerograph::frontend {

/// Some exporters write weights as Constant nodes. Makes initializers of them,
/// in a graph that has no initializer where operators take weights: there a
/// constant is one by intention, such as a fixed filter. A constant becomes a
/// weight where it is what a convolution, a product, a normalization or a
/// recurrent operator takes as such, or is added to their result; its name is
/// that of the node's output.
void takeConstantWeights(onnx::GraphProto &graph);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_CONSTANTWEIGHTS_H
