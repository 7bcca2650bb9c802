//===- UnitMutations.cpp - units, parameters, states ----------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

plan::Unit &anyUnit(plan::Plan &plan, Random &random) {
  return *plan.mutable_units(int(random.below(plan.units_size())));
}

plan::Parameter &anyParameter(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  return *unit.mutable_parameters(int(random.below(unit.parameters_size())));
}

Change trainableUnit(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  unit.set_trainable(!unit.trainable());
  return absl::StrCat("unit ", unit.name(), " is ",
                      unit.trainable() ? "trained" : "frozen");
}

/// And its parameters with it.
Change trainableAll(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  unit.set_trainable(!unit.trainable());
  for (plan::Parameter &parameter : *unit.mutable_parameters()) {
    parameter.set_trainable(unit.trainable());
  }
  return absl::StrCat("unit ", unit.name(), " and its parameters are ",
                      unit.trainable() ? "trained" : "frozen");
}

Change trainableParameter(plan::Plan &plan, Random &random) {
  plan::Parameter &parameter = anyParameter(plan, random);
  parameter.set_trainable(!parameter.trainable());
  return absl::StrCat("parameter ", parameter.name(), " is ",
                      parameter.trainable() ? "trained" : "frozen");
}

/// As if micro-batches made its parameters, or did not.
Change local(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  unit.set_local(!unit.local());
  return absl::StrCat("unit ", unit.name(), " is each rank's own or not");
}

Change unitType(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  unit.set_type(unit.type() == plan::I32 ? plan::F32 : plan::I32);
  return absl::StrCat("unit ", unit.name(), " has elements of ",
                      zerograph::nameOf(unit.type()));
}

Change elements(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  unit.set_elements(unit.elements() + 256 * worldOf(plan));
  return absl::StrCat("unit ", unit.name(), " has ", unit.elements(),
                      " elements");
}

Change segment(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  plan::Segment &segment =
      *unit.mutable_segments(int(random.below(unit.segments_size())));
  random.below(2) == 0 ? segment.set_offset(segment.offset() + 256)
                       : segment.set_elements(segment.elements() - 256);
  return absl::StrCat("a segment of unit ", unit.name(), " is [",
                      segment.offset(), ", + ", segment.elements(), ")");
}

/// Over the parameter that follows it.
Change longParameter(plan::Plan &plan, Random &random) {
  plan::Parameter &parameter = anyParameter(plan, random);
  parameter.set_elements(parameter.elements() + 1);
  return absl::StrCat("parameter ", parameter.name(), " has ",
                      parameter.elements(), " elements");
}

/// Onto the one that follows it, or beyond the unit.
Change moveParameter(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  int i = int(random.below(unit.parameters_size()));
  plan::Parameter &parameter = *unit.mutable_parameters(i);
  uint64_t end = i + 1 < unit.parameters_size()
                     ? unit.parameters(i + 1).offset()
                     : unit.elements();
  parameter.set_offset(end - parameter.elements() / 256 * 256);
  if (parameter.offset() + parameter.elements() <= end) {
    parameter.set_offset(parameter.offset() + 256);
  }
  return absl::StrCat("parameter ", parameter.name(), " is at ",
                      parameter.offset());
}

Change misplaceParameter(plan::Plan &plan, Random &random) {
  plan::Parameter &parameter = anyParameter(plan, random);
  parameter.set_offset(parameter.offset() + 1 + random.below(255));
  return absl::StrCat("parameter ", parameter.name(), " is at ",
                      parameter.offset());
}

Change sameName(plan::Plan &plan, Random &random) {
  std::vector<plan::Parameter *> all;
  for (plan::Unit &unit : *plan.mutable_units()) {
    for (plan::Parameter &parameter : *unit.mutable_parameters()) {
      all.push_back(&parameter);
    }
  }
  all = random.shuffled(std::move(all));
  all[0]->set_name(all[1]->name());
  return absl::StrCat("two parameters named ", all[0]->name());
}

Change source(plan::Plan &plan, Random &random) {
  plan::Parameter &parameter = anyParameter(plan, random);
  if (!parameter.has_source()) {
    return std::nullopt;
  }
  plan::Source &from = *parameter.mutable_source();
  from.set_length(from.length() - 4);
  return absl::StrCat(parameter.name(), " comes from ", from.length(),
                      " bytes");
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// States of two trained units in each other's slices.
Change swapStates(plan::Plan &plan, Random &random) {
  std::vector<std::pair<plan::Unit *, plan::State *>> all;
  for (plan::Unit &unit : *plan.mutable_units()) {
    for (plan::State &state : *unit.mutable_states()) {
      all.emplace_back(&unit, &state);
    }
  }
  all = random.shuffled(std::move(all));
  for (auto [a, x] : all) {
    for (auto [b, y] : all) {
      if (a != b && a->trainable() && b->trainable() &&
          plan.slices(int(x->slice())).bytes() ==
              plan.slices(int(y->slice())).bytes() &&
          plan.slices(int(x->slice())).slice_class() ==
              plan.slices(int(y->slice())).slice_class()) {
        uint32_t slice = x->slice();
        x->set_slice(y->slice());
        y->set_slice(slice);
        return absl::StrCat("slices of ", x->role(), " of ", a->name(), " and ",
                            y->role(), " of ", b->name(), " swapped");
      }
    }
  }
  return std::nullopt;
}

Change dropState(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  std::string role = unit.states(unit.states_size() - 1).role();
  unit.mutable_states()->RemoveLast();
  return absl::StrCat("no \"", role, "\" of unit ", unit.name());
}

Change shardState(plan::Plan &plan, Random &random) {
  if (worldOf(plan) == 1) {
    return std::nullopt;
  }
  plan::Unit &unit = anyUnit(plan, random);
  plan::State &state =
      *unit.mutable_states(int(random.below(unit.states_size())));
  bool whole = state.axes().empty();
  state.clear_axes();
  if (whole) {
    state.add_axes(0);
  }
  return absl::StrCat("\"", state.role(), "\" of unit ", unit.name(),
                      whole ? " is a shard" : " is whole");
}

Change stateType(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  plan::State &state =
      *unit.mutable_states(int(random.below(unit.states_size())));
  std::string role = state.role();
  if (role == "param") {
    return std::nullopt; // is as the unit
  }
  for (plan::State &each : *unit.mutable_states()) {
    if (each.role() == role) {
      each.set_type(random.below(2) == 0 ? plan::BF16 : plan::I32);
    }
  }
  return absl::StrCat("\"", role, "\" of unit ", unit.name(),
                      " has another type");
}

Change otherRole(plan::Plan &plan, Random &random) {
  plan::Unit &unit = anyUnit(plan, random);
  plan::State &state =
      *unit.mutable_states(int(random.below(unit.states_size())));
  std::string old = state.role();
  state.set_role(old == "param" ? "exp_avg" : "param");
  return absl::StrCat("\"", old, "\" of unit ", unit.name(), " is \"",
                      state.role(), "\"");
}

} // namespace

std::vector<Mutation> unitMutations() {
  return {
      {"trained", "a unit", trainableUnit, {kInvalidUnit}},
      {"trained", "a parameter", trainableParameter, {kInvalidUnit}},
      {"trained",
       "a unit with its parameters",
       trainableAll,
       {kFrozenState, kInvalidUnit}},
      {"units", "each rank's own", local, {kInvalidUnit, kFrozenState}},
      {"units", "element type", unitType, {kInvalidUnit}},
      {"states", "element type", stateType, {kWrongType, kInvalidUnit}},
      {"units", "elements", elements, {kInvalidUnit}},
      {"units", "segments", segment, {kInvalidUnit}},
      {"parameters", "size", longParameter, {kInvalidUnit}},
      {"parameters", "moved", moveParameter, {kInvalidUnit}},
      {"parameters",
       "not at a multiple of 256",
       misplaceParameter,
       {kInvalidUnit}},
      {"parameters", "a name twice", sameName, {kInvalidUnit}},
      {"parameters", "source", source, {kInvalidUnit}},
      {"states", "swapped", swapStates, {kWrongUnit, kWrongCopy}},
      {"states", "dropped", dropState, {kAmbiguousSlice, kInvalidUnit}},
      {"states", "sharded or whole", shardState, {kInvalidUnit}},
      {"states", "another role", otherRole, {kInvalidUnit}},
  };
}

} // namespace zerograph::testing
