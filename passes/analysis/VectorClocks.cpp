//===- VectorClocks.cpp - which step is done before which begins ----------===//

#include "passes/analysis/VectorClocks.h"

#include <algorithm>
#include <cassert>

using namespace mlir::zg;

unsigned VectorClocks::add(unsigned stream, bool collective) {
  unsigned step = streamOf.size();
  clocks.resize(clocks.size() + streams, 0);
  streamOf.push_back(stream);
  positionOf.push_back(lengths[stream]++);
  if (lastOnStream[stream] >= 0) {
    join(lastOnStream[stream]);
  }
  lastOnStream[stream] = step;
  if (collective) {
    if (lastCollective >= 0) {
      join(lastCollective);
    }
    lastCollective = step;
  }
  clocks[step * streams + stream] = lengths[stream];
  return step;
}

void VectorClocks::await(unsigned step) {
  assert(step + 1 < streamOf.size() && "awaits an earlier step");
  join(step);
}

void VectorClocks::join(unsigned step) {
  uint32_t *own = &clocks[clocks.size() - streams];
  const uint32_t *other = &clocks[step * streams];
  for (unsigned s = 0; s < streams; ++s) {
    own[s] = std::max(own[s], other[s]);
  }
}
