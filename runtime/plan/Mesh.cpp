//===- Mesh.cpp - how the ranks of a plan are numbered --------------------===//

#include "runtime/plan/Mesh.h"

#include <algorithm>

namespace zerograph {

Mesh::Mesh(const plan::Plan &plan) {
  sizes.fill(1);
  for (int axis = 0; axis < std::min(plan.mesh_size(), kMaxAxes); ++axis) {
    sizes[axis] = plan.mesh(axis).size();
    world_ *= sizes[axis];
  }
}

uint32_t Mesh::coordinate(int axis, uint32_t rank) const {
  for (int later = kMaxAxes - 1; later > axis; --later) {
    rank /= sizes[later];
  }
  return rank % sizes[axis];
}

uint32_t Mesh::groupSize(const Axes &axes) const {
  uint32_t ranks = 1;
  for (uint32_t axis : axes) {
    ranks *= sizes[axis];
  }
  return ranks;
}

uint32_t Mesh::rankInGroup(const Axes &axes, uint32_t rank) const {
  uint32_t place = 0;
  for (uint32_t axis : axes) {
    place = place * sizes[axis] + coordinate(int(axis), rank);
  }
  return place;
}

std::vector<unsigned> Mesh::group(const Axes &axes, uint32_t rank) const {
  auto outside = [&](int axis) {
    return std::find(axes.begin(), axes.end(), uint32_t(axis)) == axes.end();
  };
  std::vector<unsigned> ranks;
  for (uint32_t other = 0; other < world_; ++other) {
    bool member = true;
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      member = member && (!outside(axis) ||
                          coordinate(axis, other) == coordinate(axis, rank));
    }
    if (member) {
      ranks.push_back(other);
    }
  }
  return ranks;
}

Strides Mesh::strides(const plan::Access &access) const {
  Strides strides{};
  for (int axis = 0; axis < access.strides_size(); ++axis) {
    strides[axis] = sizes[axis] == 1 ? 0 : access.strides(axis);
  }
  return strides;
}

Strides Mesh::shardStrides(const Axes &axes, uint64_t part) const {
  Strides strides{};
  for (int i = axes.size() - 1; i >= 0; --i) {
    uint32_t size = sizes[axes[i]];
    strides[axes[i]] = size == 1 ? 0 : part;
    part *= size;
  }
  return strides;
}

uint64_t Mesh::offset(const Strides &strides, uint32_t rank) const {
  uint64_t sum = 0;
  for (int axis = kMaxAxes - 1; axis >= 0; --axis) {
    sum += rank % sizes[axis] * strides[axis];
    rank /= sizes[axis];
  }
  return sum;
}

uint64_t Mesh::lastOffset(const Strides &strides) const {
  return offset(strides, world_ - 1);
}

} // namespace zerograph
