//===- CudaSegments.h - steps that are enqueued at once -------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDASEGMENTS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDASEGMENTS_H

#include <cstddef>
#include <vector>

namespace zerograph {

/// The facts that decide where a program is cut.
struct SegmentStep {
  unsigned stream = 0;
  /// True if a graph can replay it.
  bool replays = false;
  /// True if it awaits a step of another stream, or one awaits it.
  bool awaits = false, awaited = false;
};

/// Cuts a list of steps into runs of one stream, each the places of its steps,
/// ascending. Only the first of a run awaits another stream and only the last
/// is awaited, so that a run may be enqueued where its first step stands. The
/// runs are in the order of their first steps. A step that no graph can replay
/// is a run of its own.
std::vector<std::vector<size_t>>
cutSegments(const std::vector<SegmentStep> &steps);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDASEGMENTS_H
