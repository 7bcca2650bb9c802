//===- Ranges.h - the bytes that an access touches ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_RANGES_H
#define ZEROGRAPH_RUNTIME_PLAN_RANGES_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>

namespace zerograph {

/// The most ranks a plan may be for, and the largest arena: with both, no sum
/// of offsets and strides of a valid plan exceeds 63 bits.
inline constexpr uint32_t kMaxWorld = 1 << 16;
inline constexpr uint64_t kMaxArenaBytes = uint64_t(1) << 60;

/// Bytes [begin + rank * stride, + bytes) of an arena, or of a slice.
struct Range {
  uint32_t arena = 0;
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t stride = 0;

  /// One past the last byte that any rank touches.
  uint64_t end(uint32_t world) const {
    return begin + (world - 1) * stride + bytes;
  }
};

/// The bytes of an access in its arena. The plan must be valid.
Range arenaRange(const plan::Plan &plan, const plan::Access &access);

/// True if some rank of `world` touches a byte of both. Constant time.
bool overlap(const Range &a, const Range &b, uint32_t world);

/// What step does with its access number `index`. A library's scratch and a
/// collective's staging are written before they are read, whatever the plan
/// says: what was in them doesn't matter.
struct Effect {
  bool reads = false;
  bool writes = false;
};
Effect effectOf(const plan::Step &step, int index);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_RANGES_H
