//===- ConstantWeights.h - weights that stand in Constant nodes -----------===//

#ifndef ZEROGRAPH_FRONTEND_QUIRKS_CONSTANTWEIGHTS_H
#define ZEROGRAPH_FRONTEND_QUIRKS_CONSTANTWEIGHTS_H

#include "onnx/onnx_pb.h"

#include <string>
#include <vector>

namespace zerograph::frontend {

/// Some exporters write weights as Constant nodes. Makes initializers of those
/// that a convolution, a product, a normalization or a recurrent operator takes
/// as a weight, or that are added to the result of one; then also of the scale
/// and the offset of a norm that is written out. An initializer is named as the
/// node's output. Leaves all if any weight is an initializer already: then the
/// constants are meant as such, a fixed filter for example. Returns the names
/// of those it left.
std::vector<std::string> takeConstantWeights(onnx::GraphProto &graph);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_QUIRKS_CONSTANTWEIGHTS_H
