//===- Extremum.h - who gets the gradient of equal extremes ---------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_EXTREMUM_H
#define ZEROGRAPH_FRONTEND_EXPORTER_EXTREMUM_H

#include "frontend/graph/Graph.h"

#include <vector>

namespace zerograph::frontend {

/// Returns whether the first of equal extremes gets the whole gradient of a
/// ReduceMax or ReduceMin along `axes` (not negative) of an input of `rank`
/// dims. PyTorch does so in max(dim) and min(dim), which return the place too;
/// its amax and amin, and max and min of everything, share the gradient.
///
/// The newer exporter says which function a node is. Otherwise it is max(dim)
/// if an ArgMax finds the place, or if the older exporter reduces one axis: it
/// writes amax likewise, which is the rarer.
bool choosesFirst(const onnx::ModelProto &model, const Graph &graph,
                  const onnx::NodeProto &node, const std::vector<int64_t> &axes,
                  int64_t rank);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_EXTREMUM_H
