//===- MaskedAssignment.h - x[mask] = value -------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_MASKEDASSIGNMENT_H
#define ZEROGRAPH_FRONTEND_EXPORTER_MASKEDASSIGNMENT_H

#include "onnx/onnx_pb.h"

namespace zerograph::frontend {

/// Exporters write `x[mask] = value` as a ScatterND at the places that NonZero
/// finds in the mask: how many they are depends on data, though the result's
/// shape does not. Makes each a Where, if the value is
///   - a constant of one element, or
///   - made of `y[mask]` and such constants by Add, Neg, Sub, and Mul by a
///   constant, y having the shape of x.
/// What found the places is left to nobody, unless something else reads it.
void selectMaskedAssignments(onnx::GraphProto &graph);

/// Whether the function above made the node.
bool isOfMaskedAssignment(const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_MASKEDASSIGNMENT_H
