//===- Ranges.cpp - the bytes that an access touches ----------------------===//

#include "runtime/plan/Ranges.h"

#include <algorithm>

namespace zerograph {

Range arenaRange(const plan::Plan &plan, const plan::Access &access) {
  const plan::Slice &slice = plan.slices(int(access.slice()));
  return {slice.arena(), slice.offset() + access.offset(), access.bytes(),
          Mesh(plan).strides(access)};
}

bool same(const Range &a, const Range &b) {
  return a.arena == b.arena && a.begin == b.begin && a.bytes == b.bytes &&
         a.strides == b.strides;
}

namespace {

/// True if some of `size` multiples of `drift` lies in [low, high].
bool reaches(__int128 low, __int128 high, __int128 drift, uint32_t size) {
  if (drift == 0) {
    return low <= 0 && high >= 0;
  }
  if (drift < 0) {
    drift = -drift;
    std::swap(low, high);
    low = -low;
    high = -high;
  }
  high = std::min<__int128>(high, __int128(size - 1) * drift);
  low = std::max<__int128>(low, 0);
  return high >= low && (low + drift - 1) / drift * drift <= high;
}

/// True if the drifts of some rank add up to a number in [low, high].
bool reaches(const Mesh &mesh, const std::array<__int128, kMaxAxes> &drifts,
             int axis, __int128 low, __int128 high) {
  int next = axis + 1;
  while (next < kMaxAxes && drifts[next] == 0) {
    ++next;
  }
  if (next == kMaxAxes) {
    return reaches(low, high, drifts[axis], mesh.size(axis));
  }
  for (uint32_t i = 0; i < (drifts[axis] == 0 ? 1 : mesh.size(axis)); ++i) {
    if (reaches(mesh, drifts, next, low - i * drifts[axis],
                high - i * drifts[axis])) {
      return true;
    }
  }
  return false;
}

} // namespace

bool overlap(const Mesh &mesh, const Range &a, const Range &b) {
  if (a.arena != b.arena || a.bytes == 0 || b.bytes == 0) {
    return false;
  }
  // A rank overlaps if -a.bytes < distance + its drift < b.bytes.
  __int128 distance = __int128(a.begin) - b.begin;
  std::array<__int128, kMaxAxes> drifts;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    drifts[axis] = __int128(a.strides[axis]) - b.strides[axis];
  }
  return reaches(mesh, drifts, 0, 1 - __int128(a.bytes) - distance,
                 __int128(b.bytes) - 1 - distance);
}

} // namespace zerograph
