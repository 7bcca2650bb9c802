//===- Layout.cpp - which part of a unit lies where on a rank -------------===//

#include "runtime/state/Layout.h"

#include "runtime/io/TensorFile.h"

using namespace zerograph;

namespace {

/// The rank's shard of a segment.
HeldRange shardOf(const plan::Plan &plan, const plan::Segment &segment,
                  unsigned rank) {
  uint64_t elements = segment.elements() / plan.world();
  uint64_t begin = segment.offset() + rank * elements;
  return {begin, begin + elements, {}};
}

} // namespace

std::vector<HeldRange> zerograph::heldRanges(const plan::Plan &plan,
                                             const plan::Unit &unit,
                                             const plan::State &state,
                                             const RankMemory &memory) {
  uint64_t element = elementSize(unit.type());
  DeviceRange slice = memory.slice(plan, state.slice());
  if (state.segment() < 0) {
    return {{0, unit.elements(), slice.part(0, unit.elements() * element)}};
  }
  const plan::Segment &segment = unit.segments(state.segment());
  HeldRange range = {
      segment.offset(), segment.offset() + segment.elements(), {}};
  if (state.sharded()) {
    range = shardOf(plan, segment, memory.rank);
  }
  range.bytes = slice.part(0, (range.end - range.begin) * element);
  return {range};
}

std::vector<HeldRange> zerograph::ownedRanges(const plan::Plan &plan,
                                              const plan::Unit &unit,
                                              const plan::State &state,
                                              const RankMemory &memory) {
  std::vector<HeldRange> held = heldRanges(plan, unit, state, memory);
  if (state.sharded()) {
    return held;
  }
  if (!unit.trainable() || unit.segments().empty()) {
    return memory.rank == 0 ? held : std::vector<HeldRange>();
  }
  uint64_t element = elementSize(unit.type());
  std::vector<HeldRange> owned;
  for (const HeldRange &whole : held) {
    for (const plan::Segment &segment : unit.segments()) {
      HeldRange part = shardOf(plan, segment, memory.rank);
      if (part.begin >= whole.begin && part.end <= whole.end) {
        part.bytes = whole.bytes.part((part.begin - whole.begin) * element,
                                      (part.end - part.begin) * element);
        owned.push_back(part);
      }
    }
  }
  return owned;
}
