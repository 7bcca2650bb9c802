//===- MaskedAssignment.h - x[mask] = value -------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_MASKEDASSIGNMENT_H
#define ZEROGRAPH_FRONTEND_MASKEDASSIGNMENT_H

#include "onnx/onnx_pb.h"

namespace zerograph::frontend {

/// Exporters write `x[mask] = value` as a ScatterND at the places that NonZero
/// finds in the mask: how many they are depends on data, though the result's
/// shape does not. Makes each a Where, if the value is
///   - of one element, or of the dimensions that the mask lacks, or
///   - made of `y[mask]` and such values by Add, Neg, Sub, and Mul by a
///   constant.
/// What found the places is left to nobody, unless something else reads it.
void selectMaskedAssignments(onnx::GraphProto &graph);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_MASKEDASSIGNMENT_H
