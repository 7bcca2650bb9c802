//===- StatePlan.h - plans of states alone, and ranks that hold them ------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_CHECKPOINT_STATEPLAN_H
#define ZEROGRAPH_TESTS_RUNTIME_CHECKPOINT_STATEPLAN_H

#include "runtime/checkpoint/Index.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/plan/Mesh.h"
#include "runtime/state/Layout.h"
#include "tests/support/Folder.h"

#include "gtest/gtest.h"

#include <cstring>

namespace zerograph::testing {

struct StatePlanOptions {
  unsigned world = 1;
  bool sharded = false;
  /// The type of parameters; in another type than F32 they have masters.
  plan::ElementType type = plan::F32;
  uint64_t elements = 900; // of "w"
};

/// A trained unit of two segments: "w" and "b", 300 elements, with "exp_avg";
/// and "mean", 16 elements, of which each rank has its own. No programs.
inline plan::Plan statePlan(const StatePlanOptions &options) {
  plan::Plan plan;
  plan.set_model("model.onnx");
  plan.add_mesh()->set_size(options.world);
  plan.add_arenas();
  plan.add_groups()->set_kind("adamw");
  uint64_t granule = 256 * options.world, offset = 0;
  auto up = [](uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
  };
  uint64_t place = up(options.elements, 256);
  uint64_t segment = up((place + 512 + 1) / 2, granule);
  auto slice = [&](uint64_t bytes) {
    plan::Slice &slice = *plan.add_slices();
    slice.set_offset(offset);
    slice.set_bytes(bytes);
    slice.set_carried(true);
    offset += bytes;
    return uint32_t(plan.slices_size() - 1);
  };
  auto parameter = [](plan::Unit &unit, const char *name, uint64_t offset,
                      uint64_t elements) {
    plan::Parameter &parameter = *unit.add_parameters();
    parameter.set_name(name);
    parameter.set_offset(offset);
    parameter.set_elements(elements);
    parameter.add_shape(elements);
  };
  plan::Unit &unit = *plan.add_units();
  unit.set_type(options.type);
  unit.set_trainable(true);
  unit.set_elements(2 * segment);
  parameter(unit, "w", 0, options.elements);
  parameter(unit, "b", place, 300);
  std::vector<std::string> roles = {"param", "exp_avg"};
  if (options.type != plan::F32) {
    roles.push_back("master");
  }
  for (int i = 0; i < 2; ++i) {
    plan::Segment &one = *unit.add_segments();
    one.set_offset(uint64_t(i) * segment);
    one.set_elements(segment);
    for (const std::string &role : roles) {
      plan::State &state = *unit.add_states();
      state.set_role(role);
      state.set_segment(i);
      state.set_type(role == "param" ? options.type : plan::F32);
      if (options.sharded) {
        state.add_axes(0);
      }
      state.set_slice(slice(segment * elementSize(state.type()) /
                            (options.sharded ? options.world : 1)));
    }
  }
  plan::Unit &local = *plan.add_units();
  local.set_type(plan::F32);
  local.set_elements(256);
  local.set_local(true);
  parameter(local, "mean", 0, 16);
  plan::State &state = *local.add_states();
  state.set_role("param");
  state.set_segment(-1);
  state.set_type(plan::F32);
  state.set_slice(slice(1024));
  plan.mutable_arenas(0)->set_bytes(offset);
  return plan;
}

/// A rank's memory, begun full of rubbish.
struct HeldStates {
  HeldStates(const plan::Plan &plan, unsigned rank)
      : bytes(plan.arenas(0).bytes(), std::byte(0xa5)),
        buffer(bytes.data(), bytes.size()), memory{rank, {&buffer}} {}
  HeldStates(const HeldStates &) = delete;

  std::vector<std::byte> bytes;
  HostBuffer buffer;
  RankMemory memory;
};

/// Returns what a run of states would have: each element tells where it
/// belongs.
inline float valueOf(const ParameterPart &part, uint64_t element,
                     unsigned rank) {
  float role = part.state->role() == "exp_avg" ? 0.5f : 0;
  float own = part.unit->local() ? 1000 * float(rank + 1) : 0;
  float name = float(part.parameter->name().size()) * 1e6f;
  return name + own + role + float(element);
}

/// Calls visit(part, rank) for all that a rank holds and a run needs.
template <typename Visit>
void forEachPart(const plan::Plan &plan, const RankMemory &memory,
                 Visit visit) {
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      for (const HeldRange &range : heldRanges(plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          visit(part);
        }
      }
    }
  }
}

inline void fill(const plan::Plan &plan, const RankMemory &memory) {
  forEachPart(plan, memory, [&](const ParameterPart &part) {
    if (part.state->type() == plan::F32) {
      std::vector<float> values(part.count);
      for (uint64_t i = 0; i < part.count; ++i) {
        values[i] = valueOf(part, part.first + i, memory.rank);
      }
      ASSERT_TRUE(part.bytes.write(values.data()).ok());
    }
  });
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_CHECKPOINT_STATEPLAN_H
