//===- Layout.h - which part of a unit lies where on a rank ---------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_LAYOUT_H
#define ZEROGRAPH_RUNTIME_STATE_LAYOUT_H

#include "runtime/device/Buffer.h"
#include "runtime/plan/Mesh.h"

#include "absl/functional/function_ref.h"

#include <cstdint>
#include <vector>

namespace zerograph {

/// A rank's arenas, by the plan's numbers.
struct RankMemory {
  unsigned rank = 0;
  std::vector<Buffer *> arenas;

  DeviceRange slice(const plan::Plan &plan, uint32_t index) const {
    const plan::Slice &slice = plan.slices(int(index));
    return {arenas[slice.arena()], slice.offset(), slice.bytes()};
  }
  /// Returns what this rank touches by an access.
  DeviceRange access(const plan::Plan &plan, const plan::Access &access) const {
    Mesh mesh(plan);
    uint64_t begin = mesh.offset(mesh.strides(access), rank);
    return slice(plan, access.slice())
        .part(access.offset() + begin, access.bytes());
  }
};

/// Elements [begin, end) of a unit's flat buffer in a rank's memory.
struct HeldRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  DeviceRange bytes;
};

/// The part of one parameter that a range holds: elements [first, first +
/// count).
struct ParameterPart {
  const plan::Unit *unit = nullptr;
  const plan::State *state = nullptr;
  const plan::Parameter *parameter = nullptr;
  uint64_t first = 0;
  uint64_t count = 0;
  DeviceRange bytes;
};

/// The parameters that a range of a state holds, without the padding.
std::vector<ParameterPart> partsOf(const plan::Unit &unit,
                                   const plan::State &state,
                                   const HeldRange &range);

/// Zeroes every state that is carried from program to program.
absl::Status zeroStates(const plan::Plan &plan, const RankMemory &memory);

/// Everything that the rank holds of a state of a unit.
std::vector<HeldRange> heldRanges(const plan::Plan &plan,
                                  const plan::Unit &unit,
                                  const plan::State &state,
                                  const RankMemory &memory);

/// Calls `visit` with each part of a parameter that the rank holds in a state
/// that is carried from program to program; until an error.
absl::Status
forHeld(const plan::Plan &plan, const RankMemory &memory,
        absl::FunctionRef<absl::Status(const ParameterPart &)> visit);

/// Returns what the rank writes to files: over all ranks each element once. Of
/// a state that all hold whole, a rank's part is its shard of each segment,
/// which is right even where other parts are not gathered yet; what is not
/// trained may differ between ranks, and rank 0's is written.
std::vector<HeldRange> ownedRanges(const plan::Plan &plan,
                                   const plan::Unit &unit,
                                   const plan::State &state,
                                   const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_LAYOUT_H
