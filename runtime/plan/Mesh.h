//===- Mesh.h - how the ranks of a plan are numbered ----------------------===//
//
// Ranks form a grid of named axes. Whoever asks where a rank's part of
// something lies, or who is in a group, asks here.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_MESH_H
#define ZEROGRAPH_RUNTIME_PLAN_MESH_H

#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace zerograph {

/// The most axes of a mesh, and the most ranks in all. With the largest arena,
/// no sum of offsets and strides of a valid plan exceeds 63 bits.
inline constexpr int kMaxAxes = 4;
inline constexpr uint32_t kMaxWorld = 1 << 16;

/// For each axis, the bytes (or elements) from one coordinate to the next; 0
/// where there is one coordinate, or all ranks have the same.
using Strides = std::array<uint64_t, kMaxAxes>;
using Axes = google::protobuf::RepeatedField<uint32_t>;

/// The mesh of a plan whose axes are valid.
class Mesh {
public:
  explicit Mesh(const plan::Plan &plan);

  uint32_t world() const { return world_; }
  /// Ranks along axis `axis`.
  uint32_t size(int axis) const { return sizes[axis]; }
  uint32_t coordinate(int axis, uint32_t rank) const;

  /// Ranks of a group over `axes`, and the place of `rank` in its own.
  uint32_t groupSize(const Axes &axes) const;
  uint32_t rankInGroup(const Axes &axes, uint32_t rank) const;
  /// The ranks of the group over `axes`, which ascend, that `rank` is in.
  std::vector<unsigned> group(const Axes &axes, uint32_t rank) const;

  /// Returns where an access begins, relative to its offset.
  Strides strides(const plan::Access &access) const;
  /// Returns the strides of something that is cut evenly over `axes` into parts
  /// of this size.
  Strides shardStrides(const Axes &axes, uint64_t part) const;
  uint64_t offset(const Strides &strides, uint32_t rank) const;
  /// The largest offset of all ranks.
  uint64_t lastOffset(const Strides &strides) const;

  /// Calls visit(begin, end) for the ranges [begin + offset of a rank, + count)
  /// of all ranks; ranges that follow each other may be one.
  template <typename Visit>
  void visitRanks(uint64_t begin, uint64_t count, Strides strides,
                  Visit visit) const {
    for (int axis = kMaxAxes - 1; axis >= 0; --axis) {
      if (strides[axis] == count && count != 0) {
        count *= sizes[axis];
        strides[axis] = 0;
      }
    }
    visitAxis(0, begin, count, strides, visit);
  }

private:
  template <typename Visit>
  void visitAxis(int axis, uint64_t begin, uint64_t count,
                 const Strides &strides, Visit &visit) const {
    if (axis == kMaxAxes) {
      visit(begin, begin + count);
      return;
    }
    uint32_t steps = strides[axis] == 0 ? 1 : sizes[axis];
    for (uint32_t i = 0; i < steps; ++i) {
      visitAxis(axis + 1, begin + i * strides[axis], count, strides, visit);
    }
  }

  std::array<uint32_t, kMaxAxes> sizes;
  uint32_t world_ = 1;
};

/// The number of ranks.
inline uint32_t worldOf(const plan::Plan &plan) { return Mesh(plan).world(); }

/// The samples of a step: ranks * accumulation * micro-batch.
inline uint64_t samplesOfStep(const plan::Plan &plan) {
  return worldOf(plan) * std::max<uint64_t>(1, plan.accumulate()) *
         plan.micro_batch();
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_MESH_H
