//===- Ranges.cpp - the bytes that an access touches ----------------------===//

#include "runtime/plan/Ranges.h"

#include "runtime/plan/Describe.h"

#include <algorithm>

namespace zerograph {

Range arenaRange(const plan::Plan &plan, const plan::Access &access) {
  const plan::Slice &slice = plan.slices(access.slice());
  return {slice.arena(), slice.offset() + access.offset(), access.bytes(),
          access.rank_stride()};
}

bool overlap(const Range &a, const Range &b, uint32_t world) {
  if (a.arena != b.arena || a.bytes == 0 || b.bytes == 0) {
    return false;
  }
  // Rank r overlaps if -a.bytes < distance + r * drift < b.bytes.
  __int128 distance = __int128(a.begin) - b.begin;
  __int128 drift = __int128(a.stride) - b.stride;
  __int128 low = 1 - __int128(a.bytes) - distance;
  __int128 high = __int128(b.bytes) - 1 - distance;
  if (drift == 0) {
    return low <= 0 && high >= 0;
  }
  if (drift < 0) {
    drift = -drift;
    std::swap(low, high);
    low = -low;
    high = -high;
  }
  // Ranks r with low <= r * drift <= high.
  high = std::min<__int128>(high, __int128(world - 1) * drift);
  low = std::max<__int128>(low, 0);
  if (high < low) {
    return false;
  }
  __int128 first = (low + drift - 1) / drift;
  return first * drift <= high;
}

Effect effectOf(const plan::Step &step, int index) {
  bool scribble = (isLibraryCall(step) && index == 3) ||
                  (step.has_reduce_scatter() && index == 2);
  plan::Mode mode = step.accesses(index).mode();
  return {!scribble && mode != plan::WRITE, scribble || mode != plan::READ};
}

} // namespace zerograph
