//===- ValidateUnits.cpp - units, states, inputs and scalars --------------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/StepChecks.h"
#include "runtime/plan/Supported.h"

#include <map>
#include <set>

namespace zerograph {
namespace detail {
namespace {

template <typename Shape>
Checked product(const Shape &shape) {
  Checked count = 1;
  for (uint64_t dim : shape) {
    count = count * dim;
  }
  return count;
}

absl::Status validateSegments(const plan::Plan &plan, const plan::Unit &unit) {
  Checked end = 0;
  for (const plan::Segment &segment : unit.segments()) {
    if (!end.is(segment.offset()) || segment.elements() == 0 ||
        segment.elements() % (uint64_t(plan.world()) * 256) != 0) {
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

absl::Status validateParameters(const plan::Unit &unit) {
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
    if (parameter.trainable() && !unit.trainable()) {
      return invalid("parameter ", parameter.name(),
                     " is trainable and its unit is not");
    }
    if (parameter.init() < plan::NORMAL || parameter.init() > plan::ONES) {
      return invalid("parameter ", parameter.name(),
                     " has an unknown initialization");
    }
    if (parameter.has_source() &&
        (parameter.source().file().empty() ||
         !(Checked(parameter.elements()) * elementSize(unit.type()))
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
  return state.sharded() ? elements / plan.world() : elements;
}

absl::Status validateState(const plan::Plan &plan, const plan::Unit &unit,
                           const plan::State &state) {
  if (state.role().empty() || state.slice() >= uint32_t(plan.slices_size()) ||
      state.segment() < -1 || state.segment() >= unit.segments_size() ||
      (state.segment() < 0 && state.sharded())) {
    return invalid("state \"", state.role(), "\" of segment ", state.segment(),
                   " in slice ", state.slice(),
                   " names what does not exist, or shards the whole buffer");
  }
  uint64_t elements = elementsOf(plan, unit, state);
  uint64_t bytes = plan.slices(state.slice()).bytes();
  bool exact = state.role() == "param"
                   ? bytes == elements * elementSize(unit.type())
                   : bytes % elements == 0 && bytes / elements >= 1 &&
                         bytes / elements <= 8;
  if (!exact) {
    return invalid("state \"", state.role(), "\" has ", elements,
                   " elements and ", bytes, " bytes in ",
                   describeSlice(plan, state.slice()));
  }
  // Gradients are states only so that they can be dumped.
  if (!plan.slices(state.slice()).carried() && state.role() != "grad") {
    return invalid("state \"", state.role(), "\" is in ",
                   describeSlice(plan, state.slice()),
                   ", which is not carried across programs");
  }
  return absl::OkStatus();
}

/// Each role is there for every segment once, or once for all.
absl::Status validateStates(const plan::Plan &plan, const plan::Unit &unit) {
  std::map<std::string, std::set<int>> roles;
  for (const plan::State &state : unit.states()) {
    ZG_RETURN_IF_ERROR(validateState(plan, unit, state));
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
  ZG_RETURN_IF_ERROR(validateParameters(unit));
  return validateStates(plan, unit);
}

absl::Status validateScalarSlice(const plan::Plan &plan, uint32_t slice,
                                 absl::string_view name,
                                 plan::ElementType type = plan::F32) {
  if (slice >= uint32_t(plan.slices_size()) ||
      plan.slices(slice).bytes() != elementSize(type)) {
    return invalid("the scalar \"", name, "\" is in slice ", slice,
                   ", which does not exist or has not the ", elementSize(type),
                   " bytes of an ", type == plan::F32 ? "f32" : "i64");
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
  return absl::OkStatus();
}

absl::Status validateInputs(const plan::Plan &plan) {
  std::set<std::string> names;
  for (const plan::Input &input : plan.inputs()) {
    if (input.name().empty() || !names.insert(input.name()).second) {
      return invalid("input \"", input.name(), "\" has no name or a taken one");
    }
    if (elementSize(input.type()) == 0 ||
        input.slice() >= uint32_t(plan.slices_size())) {
      return invalid("input ", input.name(), " has unknown type ", input.type(),
                     " or no slice");
    }
    uint64_t bytes = plan.slices(input.slice()).bytes();
    if (!(product(input.shape()) * elementSize(input.type())).is(bytes)) {
      return invalid("input ", input.name(), " has not the ", bytes,
                     " bytes of ", describeSlice(plan, input.slice()));
    }
    if (input.per_sample() &&
        (input.shape_size() == 0 || input.shape(0) % plan.micro_batch() != 0)) {
      return invalid("input ", input.name(),
                     " is per sample and its leading dimension is no multiple "
                     "of the micro-batch ",
                     plan.micro_batch());
    }
    if (input.has_min() != input.has_max() ||
        (input.ignored_size() != 0 && !input.has_min())) {
      return invalid("input ", input.name(),
                     " has one bound of its legal values and not the other");
    }
    if (input.min() > input.max()) {
      return invalid("input ", input.name(), " has legal values from ",
                     input.min(), " to ", input.max());
    }
  }
  for (const plan::Scalar &scalar : plan.scalars()) {
    std::optional<ScalarKind> kind = scalarKind(scalar.name());
    ZG_RETURN_IF_ERROR(
        validateScalarSlice(plan, scalar.slice(), scalar.name(),
                            kind ? scalarType(*kind) : plan::F32));
    if (!kind) {
      return invalid("the plan asks for the scalar \"", scalar.name(), "\" in ",
                     describeSlice(plan, scalar.slice()),
                     "; this runtime knows ", scalarNames());
    }
  }
  ZG_RETURN_IF_ERROR(validateScalarSlice(plan, plan.loss_slice(), "loss"));
  ZG_RETURN_IF_ERROR(validateScalarSlice(plan, plan.stop_slice(), "stop"));
  for (uint32_t slice : {plan.loss_slice(), plan.stop_slice()}) {
    if (!plan.slices(slice).carried()) {
      return invalid(describeSlice(plan, slice),
                     " holds the loss or the stop flag, which outlive "
                     "programs, and is not carried");
    }
  }
  if (plan.loss_slice() == plan.stop_slice()) {
    return invalid("the loss and the stop flag share ",
                   describeSlice(plan, plan.loss_slice()));
  }
  return absl::OkStatus();
}

} // namespace detail
} // namespace zerograph
