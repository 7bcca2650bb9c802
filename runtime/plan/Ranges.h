//===- Ranges.h - the bytes that an access touches ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_RANGES_H
#define ZEROGRAPH_RUNTIME_PLAN_RANGES_H

#include "runtime/plan/Mesh.h"

#include <cstdint>

namespace zerograph {

/// The largest arena.
inline constexpr uint64_t kMaxArenaBytes = uint64_t(1) << 60;

/// Bytes [begin + offset of the rank, + bytes) of an arena.
struct Range {
  uint32_t arena = 0;
  uint64_t begin = 0;
  uint64_t bytes = 0;
  Strides strides{};
};

/// The bytes of an access in its arena. The plan must be valid.
Range arenaRange(const plan::Plan &plan, const plan::Access &access);

/// True if the two are the same bytes on every rank.
bool same(const Range &a, const Range &b);
/// True if some rank touches a byte of both. Constant time with one axis.
bool overlap(const Mesh &mesh, const Range &a, const Range &b);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_RANGES_H
