//===- ValidateEnds.cpp - inputs, outputs, scalars and totals -------------===//
//
// Validates what passes between the runtime and a program, by its declaration.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/Totals.h"
#include "runtime/plan/steps/Checks.h"

#include <cmath>
#include <set>

namespace zerograph {
namespace detail {
namespace {

using steps::invalid;

absl::Status needNumber(const plan::Plan &plan, uint32_t slice,
                        absl::string_view name, plan::ElementType type) {
  if (slice >= uint32_t(plan.slices_size()) ||
      plan.slices(int(slice)).bytes() != elementSize(type)) {
    return invalid(name, " is in slice ", slice,
                   ", which does not exist or has not the ", elementSize(type),
                   " bytes of an ", nameOf(type));
  }
  return absl::OkStatus();
}

/// Checks that an input or an output has a name of its own, and a dense tensor
/// in a slice.
template <typename End>
absl::Status needTensor(const plan::Plan &plan, const End &end,
                        absl::string_view what, std::set<std::string> &names) {
  if (end.name().empty() || !names.insert(end.name()).second) {
    return invalid(what, " \"", end.name(), "\" has no name or a taken one");
  }
  if (elementSize(end.type()) == 0 ||
      end.slice() >= uint32_t(plan.slices_size())) {
    return invalid(what, " ", end.name(), " has unknown type ", end.type(),
                   " or no slice");
  }
  uint64_t bytes = plan.slices(int(end.slice())).bytes();
  if (!(product(end.shape()) * elementSize(end.type())).is(bytes)) {
    return invalid(what, " ", end.name(), " has not the ", bytes, " bytes of ",
                   describeSlice(plan, end.slice()));
  }
  return absl::OkStatus();
}

/// Checks a slice that the runtime reads when a program has ended.
absl::Status needCarried(const plan::Plan &plan, uint32_t slice,
                         absl::string_view what) {
  if (!plan.slices(int(slice)).carried()) {
    return invalid(describeSlice(plan, slice), " holds ", what,
                   ", which outlives programs, and is not carried");
  }
  return absl::OkStatus();
}

/// Checks a slice of an input or a scalar: each program that reads it copies it
/// in.
absl::Status needNotCarried(const plan::Plan &plan, uint32_t slice,
                            absl::string_view name) {
  if (plan.slices(int(slice)).carried()) {
    return invalid(describeSlice(plan, slice), " holds ", name,
                   ", which every program gets anew, and is carried");
  }
  return absl::OkStatus();
}

/// A sum over ranks, of elements that can be summed.
absl::Status validateTotal(const plan::Plan &plan, const KnownTotal &known) {
  const plan::Total &total = *known.total;
  ZG_RETURN_IF_ERROR(needReducible(total.type(), total.type()));
  if (known.type != plan::ELEMENT_INVALID && total.type() != known.type) {
    return invalid(known.what, " is ", nameOf(total.type()), "; expected ",
                   nameOf(known.type));
  }
  ZG_RETURN_IF_ERROR(steps::needAxes(plan, total.axes()));
  ZG_RETURN_IF_ERROR(needNumber(plan, total.slice(), known.what, total.type()));
  return needCarried(plan, total.slice(), known.what);
}

/// Checks that metrics have names of their own, and that an evaluation has all
/// of them.
absl::Status validateMetrics(const plan::Plan &plan) {
  std::set<std::string> names = {plan.loss().name()};
  for (const plan::Total &metric : plan.metrics()) {
    if (metric.name().empty() || !names.insert(metric.name()).second) {
      return invalid("metric \"", metric.name(),
                     "\" has no name or a taken one");
    }
  }
  int expected = plan.has_evaluation() ? plan.metrics_size() : 0;
  return plan.evaluation_metrics_size() == expected
             ? absl::OkStatus()
             : invalid("the plan evaluates ", plan.evaluation_metrics_size(),
                       " metrics; expected ", expected);
}

} // namespace

absl::Status validateInputs(const plan::Plan &plan) {
  std::set<std::string> names;
  for (const plan::Input &input : plan.inputs()) {
    ZG_RETURN_IF_ERROR(needTensor(plan, input, "input", names));
    ZG_RETURN_IF_ERROR(needNotCarried(plan, input.slice(), input.name()));
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
  return absl::OkStatus();
}

absl::Status validateScalars(const plan::Plan &plan) {
  for (const plan::Scalar &scalar : plan.scalars()) {
    std::string name =
        absl::StrCat("the scalar \"", nameOf(scalar.kind()), "\"");
    if (!plan::Scalar::Kind_IsValid(scalar.kind()) ||
        scalar.kind() == plan::Scalar::INVALID) {
      return invalid("the plan asks for ", name, "; this runtime knows ",
                     scalarNames());
    }
    if (!canHave(scalar.kind(), scalar.type())) {
      return invalid(name, " is ", nameOf(scalar.type()),
                     ", which it cannot be");
    }
    uint32_t group = scalar.group();
    if (group != 0 && group >= uint32_t(plan.groups_size())) {
      return invalid(name, " is of group ", group, " of ", plan.groups_size());
    }
    options::Scalar formula = formulaScalar(scalar.kind());
    if (formula != options::Scalar::none && !isForward(plan) &&
        !options::findOptimizer(plan.groups(int(group)).kind())
             ->reads(formula)) {
      return invalid(name, " is of group ", group, ", whose optimizer ",
                     plan.groups(int(group)).kind(), " does not read it");
    }
    ZG_RETURN_IF_ERROR(needNumber(plan, scalar.slice(), name, scalar.type()));
    ZG_RETURN_IF_ERROR(needNotCarried(plan, scalar.slice(), name));
  }
  return absl::OkStatus();
}

absl::Status validateSlots(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    if (program.slots_size() != 0 && program.slots_size() != 2) {
      return invalid("\"", program.name(), "\" has ", program.slots_size(),
                     " slots; expected two, or none");
    }
    for (uint32_t slot : program.slots()) {
      if (slot >= uint32_t(plan.slices_size())) {
        return invalid("\"", program.name(), "\" has its slot in slice ", slot,
                       " of ", plan.slices_size());
      }
      const plan::Slice &slice = plan.slices(int(slot));
      if (!slice.carried() ||
          plan.arenas(int(slice.arena())).space() != plan::PINNED) {
        return invalid(describeSlice(plan, slot), " is a slot of \"",
                       program.name(),
                       "\", which the runtime writes between programs; it must "
                       "be carried, in pinned memory");
      }
      uint64_t bytes = plan.slices(int(program.slots(0))).bytes();
      if (slice.bytes() != bytes) {
        return invalid("the slots of \"", program.name(), "\" have ", bytes,
                       " and ", slice.bytes(), " bytes; expected the same");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status validateScaling(const plan::Plan &plan) {
  if (plan.skip_nonfinite() && !plan.has_gradient_norm()) {
    return invalid("the plan skips updates by the norm of gradients, and has "
                   "none");
  }
  if (!plan.has_loss_scale()) {
    return absl::OkStatus();
  }
  const plan::LossScale &scale = plan.loss_scale();
  auto isScale = [](double value) { return value > 0 && std::isfinite(value); };
  bool dynamic = scale.window() > 0;
  if (!isScale(scale.initial()) ||
      (dynamic && (!isScale(scale.minimum()) || scale.hysteresis() == 0 ||
                   scale.window() > uint64_t(1) << 62))) {
    return invalid("the loss scale begins with ", scale.initial(),
                   ", has a window of ", scale.window(), ", a hysteresis of ",
                   scale.hysteresis(), " and a minimum of ", scale.minimum(),
                   "; expected numbers above 0");
  }
  return plan.skip_nonfinite()
             ? absl::OkStatus()
             : invalid("the plan scales the loss, and does not skip updates "
                       "whose gradients overflow");
}

absl::Status validateTotals(const plan::Plan &plan) {
  if (plan.has_loss() == isForward(plan) ||
      plan.has_stop() == isForward(plan)) {
    return invalid("a plan that trains has a loss and a stop flag, and one "
                   "that runs forward has none");
  }
  if (isForward(plan)) {
    return plan.has_gradient_norm() || plan.skip_nonfinite() ||
                   !totalsOf(plan).empty()
               ? invalid("a plan that runs forward has a norm of gradients, or "
                         "a count of losses")
               : absl::OkStatus();
  }
  for (const KnownTotal &known : totalsOf(plan)) {
    ZG_RETURN_IF_ERROR(validateTotal(plan, known));
  }
  bool counts = plan.has_loss_count() && plan.has_evaluation();
  if (plan.has_evaluation_count() != counts) {
    return invalid("the plan has ", counts ? "no" : "a",
                   " count of evaluated losses; a plan that evaluates has one "
                   "just where it has a count of losses");
  }
  ZG_RETURN_IF_ERROR(validateMetrics(plan));
  ZG_RETURN_IF_ERROR(validateScaling(plan));
  if (plan.has_gradient_norm()) {
    const char *name = "the gradients' norm";
    ZG_RETURN_IF_ERROR(needNumber(plan, plan.gradient_norm(), name, plan::F64));
    return needCarried(plan, plan.gradient_norm(), name);
  }
  return absl::OkStatus();
}

absl::Status validateOutputs(const plan::Plan &plan) {
  if (isForward(plan) == (plan.outputs_size() == 0)) {
    return invalid("a plan that runs forward has outputs, and one that trains "
                   "has none; there are ",
                   plan.outputs_size());
  }
  std::set<std::string> names;
  for (const plan::Output &output : plan.outputs()) {
    ZG_RETURN_IF_ERROR(needTensor(plan, output, "output", names));
    ZG_RETURN_IF_ERROR(needCarried(plan, output.slice(),
                                   absl::StrCat("output ", output.name())));
    if (output.per_sample() &&
        (output.shape_size() == 0 || output.shape(0) != plan.micro_batch())) {
      return invalid("output ", output.name(),
                     " is per sample and its leading dimension is not the "
                     "micro-batch ",
                     plan.micro_batch());
    }
  }
  return absl::OkStatus();
}

} // namespace detail
} // namespace zerograph
