//===- Clamp.h - what PyTorch's gradient does at a bound ------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_CLAMP_H
#define ZEROGRAPH_FRONTEND_EXPORTER_CLAMP_H

#include "onnx/onnx_pb.h"

namespace zerograph::frontend {

/// Returns whether the gradient passes where x equals a bound of a Clip, or of
/// the Max or Min that clamp with one bound becomes: that of clamp does before
/// PyTorch 2.14. That of hardtanh and relu6, which become Clips too, never
/// does. Where the file does not say which it was, a Clip of two bounds is one
/// of these.
bool passesAtBounds(const onnx::ModelProto &model, const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_CLAMP_H
