//===- MaskedAssignment.h - x[mask] = value -------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_MASKEDASSIGNMENT_H
#define ZEROGRAPH_FRONTEND_EXPORTER_MASKEDASSIGNMENT_H

#include "onnx/onnx_pb.h"

namespace zerograph::frontend {

/// Exporters write `x[mask] = value` as a ScatterND at the places that NonZero
/// finds in the mask. Data decides how many places there are, which no plan can
/// hold; but the result's shape is fixed. So this makes each a Where, if the
/// value is
///   - a constant of one element, or
///   - made of `y[mask]` and such constants by Add, Neg, Sub, and Mul by a
///     constant, and y has the shape of x.
/// Nothing reads the places then, unless other nodes do.
void selectMaskedAssignments(onnx::GraphProto &graph);

/// Returns whether the function above made the node.
bool isOfMaskedAssignment(const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_MASKEDASSIGNMENT_H
