//===- Place.h - where in the user's code a node was made -----------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_PLACE_H
#define ZEROGRAPH_FRONTEND_EXPORTER_PLACE_H

#include "passes/ir/nn/Locations.h"

#include "onnx/onnx_pb.h"

namespace zerograph::frontend {

/// The module and the line that PyTorch's exporter says a node was made by. The
/// newer one says both in the node's metadata. The older one says the line if
/// it is called with verbose=True, and puts the module into the node's name,
/// where it stays. The line is the innermost that is not of PyTorch itself.
mlir::zg::nn::CodePlace placeOf(const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_PLACE_H
