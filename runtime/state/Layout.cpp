//===- Layout.cpp - which part of a unit lies where on a rank -------------===//

#include "runtime/state/Layout.h"

#include "runtime/io/TensorFile.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// The rank's shard of a segment over `axes`.
HeldRange shardOf(const Mesh &mesh, const plan::Segment &segment,
                  const Axes &axes, unsigned rank) {
  uint64_t elements = segment.elements() / mesh.groupSize(axes);
  uint64_t begin = segment.offset() + mesh.rankInGroup(axes, rank) * elements;
  return {begin, begin + elements, {}};
}

Axes allAxes(const plan::Plan &plan) {
  Axes axes;
  for (int axis = 0; axis < plan.mesh_size(); ++axis) {
    axes.Add(uint32_t(axis));
  }
  return axes;
}

} // namespace

std::vector<HeldRange> zerograph::heldRanges(const plan::Plan &plan,
                                             const plan::Unit &unit,
                                             const plan::State &state,
                                             const RankMemory &memory) {
  uint64_t element = elementSize(state.type());
  DeviceRange slice = memory.slice(plan, state.slice());
  if (state.segment() < 0) {
    return {{0, unit.elements(), slice.part(0, unit.elements() * element)}};
  }
  const plan::Segment &segment = unit.segments(state.segment());
  HeldRange range = shardOf(Mesh(plan), segment, state.axes(), memory.rank);
  range.bytes = slice.part(0, (range.end - range.begin) * element);
  return {range};
}

std::vector<HeldRange> zerograph::ownedRanges(const plan::Plan &plan,
                                              const plan::Unit &unit,
                                              const plan::State &state,
                                              const RankMemory &memory) {
  std::vector<HeldRange> held = heldRanges(plan, unit, state, memory);
  if (!state.axes().empty()) {
    return held;
  }
  if (!unit.trainable() || unit.segments().empty()) {
    return memory.rank == 0 ? held : std::vector<HeldRange>();
  }
  uint64_t element = elementSize(state.type());
  Axes axes = allAxes(plan);
  std::vector<HeldRange> owned;
  for (const HeldRange &whole : held) {
    for (const plan::Segment &segment : unit.segments()) {
      HeldRange part = shardOf(Mesh(plan), segment, axes, memory.rank);
      if (part.begin >= whole.begin && part.end <= whole.end) {
        part.bytes = whole.bytes.part((part.begin - whole.begin) * element,
                                      (part.end - part.begin) * element);
        owned.push_back(part);
      }
    }
  }
  return owned;
}

std::vector<ParameterPart> zerograph::partsOf(const plan::Unit &unit,
                                              const plan::State &state,
                                              const HeldRange &range) {
  uint64_t element = elementSize(state.type());
  std::vector<ParameterPart> parts;
  for (const plan::Parameter &parameter : unit.parameters()) {
    uint64_t begin = std::max(range.begin, parameter.offset());
    uint64_t end =
        std::min(range.end, parameter.offset() + parameter.elements());
    if (begin < end) {
      parts.push_back({&unit, &state, &parameter, begin - parameter.offset(),
                       end - begin,
                       range.bytes.part((begin - range.begin) * element,
                                        (end - begin) * element)});
    }
  }
  return parts;
}

absl::Status zerograph::zeroStates(const plan::Plan &plan,
                                   const RankMemory &memory) {
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      // Another a program writes before it reads it.
      if (plan.slices(int(state.slice())).carried()) {
        ZG_RETURN_IF_ERROR(memory.slice(plan, state.slice()).fill());
      }
    }
  }
  return absl::OkStatus();
}

absl::Status zerograph::forHeld(
    const plan::Plan &plan, const RankMemory &memory,
    absl::FunctionRef<absl::Status(const ParameterPart &)> visit) {
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      if (!plan.slices(int(state.slice())).carried()) {
        continue;
      }
      for (const HeldRange &range : heldRanges(plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          ZG_RETURN_IF_ERROR(visit(part));
        }
      }
    }
  }
  return absl::OkStatus();
}
