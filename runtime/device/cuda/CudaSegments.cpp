//===- CudaSegments.cpp - steps that are enqueued at once -----------------===//

#include "runtime/device/cuda/CudaSegments.h"

#include <map>

using namespace zerograph;

std::vector<std::vector<size_t>>
zerograph::cutSegments(const std::vector<SegmentStep> &steps) {
  std::vector<std::vector<size_t>> segments;
  std::map<unsigned, size_t> open; // by stream: the segment that may grow
  for (size_t place = 0; place < steps.size(); ++place) {
    const SegmentStep &step = steps[place];
    auto grows = open.find(step.stream);
    if (grows != open.end() && step.replays && !step.awaits) {
      segments[grows->second].push_back(place);
    } else {
      open[step.stream] = segments.size();
      segments.push_back({place});
    }
    if (!step.replays || step.awaited) {
      open.erase(step.stream);
    }
  }
  return segments;
}
