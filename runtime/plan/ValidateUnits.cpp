//===- ValidateUnits.cpp - units, parameters and states -------------------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/steps/Checks.h"

#include <map>
#include <set>

namespace zerograph {
namespace detail {
namespace {

using steps::invalid;

absl::Status validateSegments(const plan::Plan &plan, const plan::Unit &unit) {
  Checked end = 0;
  for (const plan::Segment &segment : unit.segments()) {
    if (!end.is(segment.offset()) || segment.elements() == 0 ||
        segment.elements() % (uint64_t(worldOf(plan)) * 256) != 0) {
      return invalid("segment [", segment.offset(), ", + ", segment.elements(),
                     ") does not begin where the one before it ends, or is no "
                     "multiple of 256 elements a rank");
    }
    end = end + segment.elements();
  }
  if (!end.is(unit.elements()) ||
      !(end * elementSize(unit.type())).atMost(kMaxArenaBytes)) {
    return invalid("its segments do not make up its ", unit.elements(),
                   " elements");
  }
  return absl::OkStatus();
}

absl::Status validateParameters(const plan::Plan &plan,
                                const plan::Unit &unit) {
  uint64_t end = 0;
  for (const plan::Parameter &parameter : unit.parameters()) {
    if (parameter.name().empty()) {
      return invalid("a parameter has no name");
    }
    if (!product(parameter.shape()).is(parameter.elements())) {
      return invalid("parameter ", parameter.name(), " has ",
                     parameter.elements(),
                     " elements, not the product of its shape");
    }
    if (parameter.offset() < end || parameter.offset() % 256 != 0 ||
        !(Checked(parameter.offset()) + parameter.elements())
             .atMost(unit.elements())) {
      return invalid("parameter ", parameter.name(), " lies at [",
                     parameter.offset(), ", + ", parameter.elements(),
                     "); it must begin at a multiple of 256 after the one "
                     "before it and end within ",
                     unit.elements());
    }
    end = parameter.offset() + parameter.elements();
    if (parameter.trainable() != unit.trainable()) {
      return invalid("parameter ", parameter.name(), " is ",
                     parameter.trainable() ? "" : "not ",
                     "trainable and its unit is",
                     unit.trainable() ? "" : " not");
    }
    if (parameter.trainable() &&
        parameter.group() >= uint32_t(plan.groups_size())) {
      return invalid("parameter ", parameter.name(), " is trained in group ",
                     parameter.group(), " of ", plan.groups_size());
    }
    if (parameter.trainable() &&
        parameter.group() != unit.parameters(0).group()) {
      return invalid("parameter ", parameter.name(), " is trained in group ",
                     parameter.group(), " and ", unit.parameters(0).name(),
                     " in group ", unit.parameters(0).group(),
                     "; a unit is updated as one");
    }
    if (parameter.init() < plan::NORMAL || parameter.init() > plan::LORA_B) {
      return invalid("parameter ", parameter.name(),
                     " has an unknown initialization");
    }
    if (elementSize(ownType(unit, parameter)) == 0) {
      return invalid("parameter ", parameter.name(),
                     " has unknown element type ", parameter.type());
    }
    if (parameter.has_source() &&
        (parameter.source().file().empty() ||
         !(Checked(parameter.elements()) *
           elementSize(ownType(unit, parameter)))
              .is(parameter.source().length()) ||
         !(Checked(parameter.source().offset()) + parameter.source().length())
              .atMost(kMaxArenaBytes))) {
      return invalid("parameter ", parameter.name(), " comes from ",
                     parameter.source().length(), " bytes at ",
                     parameter.source().offset(), " of \"",
                     parameter.source().file(),
                     "\", which is not its size, or no file");
    }
  }
  return absl::OkStatus();
}

/// Elements that a state's slice holds.
uint64_t elementsOf(const plan::Plan &plan, const plan::Unit &unit,
                    const plan::State &state) {
  if (state.segment() < 0) {
    return unit.elements();
  }
  uint64_t elements = unit.segments(state.segment()).elements();
  return elements / Mesh(plan).groupSize(state.axes());
}

absl::Status validateState(const plan::Plan &plan, const plan::Unit &unit,
                           const plan::State &state) {
  if (state.role().empty() || state.slice() >= uint32_t(plan.slices_size()) ||
      state.segment() < -1 || state.segment() >= unit.segments_size() ||
      (state.segment() < 0 && !state.axes().empty())) {
    return invalid("state \"", state.role(), "\" of segment ", state.segment(),
                   " in slice ", state.slice(),
                   " names what does not exist, or shards the whole buffer");
  }
  ZG_RETURN_IF_ERROR(steps::needAxes(plan, state.axes()));
  uint64_t elements = elementsOf(plan, unit, state);
  uint64_t bytes = plan.slices(int(state.slice())).bytes();
  if (bytes == 0 || bytes != elements * elementSize(state.type())) {
    return invalid("state \"", state.role(), "\" has ", elements,
                   " elements of type ", nameOf(state.type()), " and ", bytes,
                   " bytes in ", describeSlice(plan, state.slice()));
  }
  if (state.role() == "param" && state.type() != unit.type()) {
    return invalid("state \"param\" is ", nameOf(state.type()),
                   ", and the unit is computed in ", nameOf(unit.type()));
  }
  bool holdsAll = state.type() == unit.type() ||
                  elementSize(state.type()) > elementSize(unit.type());
  if (state.role() == "master" && !(unit.trainable() && holdsAll)) {
    return invalid("state \"master\" is ", nameOf(state.type()),
                   "; expected the unit's ", nameOf(unit.type()),
                   " or a wider type, of a unit that is trained");
  }
  // Gradients of one step alone are states only so that they can be dumped.
  if (!plan.slices(state.slice()).carried() &&
      (state.role() != "grad" || !plan.dump_gradients())) {
    return invalid("state \"", state.role(), "\" is in ",
                   describeSlice(plan, state.slice()),
                   ", which is not carried across programs");
  }
  return absl::OkStatus();
}

/// Each role is there for every segment once, or once for all.
absl::Status validateStates(const plan::Plan &plan, const plan::Unit &unit) {
  std::map<std::string, std::set<int>> roles;
  std::map<std::string, plan::ElementType> types;
  for (const plan::State &state : unit.states()) {
    ZG_RETURN_IF_ERROR(validateState(plan, unit, state));
    if (types.emplace(state.role(), state.type()).first->second !=
        state.type()) {
      return invalid("state \"", state.role(),
                     "\" has segments of several types");
    }
    if (!roles[state.role()].insert(state.segment()).second) {
      return invalid("state \"", state.role(), "\" of segment ",
                     state.segment(), " is there twice");
    }
  }
  for (const auto &[role, segments] : roles) {
    bool whole = segments.size() == 1 && *segments.begin() == -1;
    bool each = segments.size() == size_t(unit.segments_size()) &&
                *segments.begin() == 0;
    if (!whole && !each) {
      return invalid("state \"", role, "\" does not cover each of ",
                     unit.segments_size(), " segments once");
    }
  }
  if (roles.count("param") == 0) {
    return invalid("it has no state \"param\"");
  }
  if (plan.dump_gradients() && unit.trainable() && roles.count("grad") == 0) {
    return invalid("it has no state \"grad\", and the plan is for dumping "
                   "gradients");
  }
  return absl::OkStatus();
}

/// Checks that what a rank changes by itself is whole on it, and that nothing
/// trains it.
absl::Status validateLocal(const plan::Unit &unit) {
  if (!unit.local()) {
    return absl::OkStatus();
  }
  bool whole = unit.states_size() == 1 && unit.states(0).axes().empty();
  if (unit.trainable() || !whole) {
    return invalid("it is each rank's own, and is trained, or not whole on "
                   "every rank");
  }
  return absl::OkStatus();
}

absl::Status validateUnit(const plan::Plan &plan, const plan::Unit &unit) {
  if (elementSize(unit.type()) == 0) {
    return invalid("it has unknown element type ", unit.type());
  }
  if (unit.segments_size() == 0) {
    return invalid("it has no segments");
  }
  ZG_RETURN_IF_ERROR(validateSegments(plan, unit));
  ZG_RETURN_IF_ERROR(validateParameters(plan, unit));
  ZG_RETURN_IF_ERROR(validateStates(plan, unit));
  return validateLocal(unit);
}

/// Checks what a buffer that is no state holds of a unit.
absl::Status validateHeld(const plan::Plan &plan, int index) {
  const plan::Slice &slice = plan.slices(index);
  const plan::UnitElements &held = slice.holds();
  std::string what = describeSlice(plan, index);
  if (held.unit() >= uint32_t(plan.units_size()) || held.role().empty()) {
    return invalid(what, " holds \"", held.role(), "\" of unit ", held.unit(),
                   " of ", plan.units_size());
  }
  if (slice.carried()) {
    return invalid(what, " holds \"", held.role(), "\" of unit ", held.unit(),
                   ", and is carried: expected a state to say so");
  }
  ZG_RETURN_IF_ERROR(steps::needAxes(plan, held.axes()));
  const plan::Unit &unit = plan.units(int(held.unit()));
  Checked end = Checked(held.elements()) * Mesh(plan).groupSize(held.axes()) +
                held.begin();
  uint64_t size = held.elements() == 0 ? 0 : slice.bytes() / held.elements();
  bool whole = size * held.elements() == slice.bytes() &&
               (size == 1 || size == 2 || size == 4 || size == 8);
  if (!whole || !end.atMost(unit.elements())) {
    return invalid(what, " has ", slice.bytes(), " bytes for elements [",
                   held.begin(), ", + ", held.elements(), ") of unit ",
                   unit.name(), ", which has ", unit.elements());
  }
  return absl::OkStatus();
}

} // namespace

absl::Status validateUnits(const plan::Plan &plan) {
  std::set<std::string> names;
  for (int i = 0; i < plan.units_size(); ++i) {
    const plan::Unit &unit = plan.units(i);
    std::string what = absl::StrCat("unit ", i, " (", unit.name(), ")");
    absl::Status status = validateUnit(plan, unit);
    if (!status.ok()) {
      return annotate(status, what);
    }
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (!names.insert(parameter.name()).second) {
        return invalid(what, ": parameter ", parameter.name(),
                       " is in the plan twice");
      }
    }
  }
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (plan.slices(i).has_holds()) {
      ZG_RETURN_IF_ERROR(validateHeld(plan, i));
    }
  }
  return validateAdapters(plan);
}

} // namespace detail
} // namespace zerograph
