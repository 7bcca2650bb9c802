//===- ValidateEnds.cpp - inputs, outputs and scalars ---------------------===//
//
// What passes between the runtime and a program, by its declaration.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/StepChecks.h"
#include "runtime/plan/Supported.h"

#include <set>

namespace zerograph {
namespace detail {
namespace {

absl::Status validateScalarSlice(const plan::Plan &plan, uint32_t slice,
                                 absl::string_view name,
                                 plan::ElementType type = plan::F32) {
  if (slice >= uint32_t(plan.slices_size()) ||
      plan.slices(slice).bytes() != elementSize(type)) {
    return invalid("the scalar \"", name, "\" is in slice ", slice,
                   ", which does not exist or has not the ", elementSize(type),
                   " bytes of an ", nameOf(type));
  }
  return absl::OkStatus();
}

} // namespace

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
  return absl::OkStatus();
}

absl::Status validateScalars(const plan::Plan &plan) {
  for (const plan::Scalar &scalar : plan.scalars()) {
    std::optional<ScalarKind> kind = scalarKind(scalar.name());
    if (!kind) {
      return invalid("the plan asks for the scalar \"", scalar.name(),
                     "\"; this runtime knows ", scalarNames());
    }
    ZG_RETURN_IF_ERROR(validateScalarSlice(
        plan, scalar.slice(), scalar.name(),
        scalarType(*kind, floatType(plan, scalar.slice()))));
  }
  if (plan.has_loss_slice() == isForward(plan) ||
      plan.has_stop_slice() == isForward(plan)) {
    return invalid("a plan that trains has a loss and a stop flag, and one "
                   "that runs forward has none");
  }
  if (isForward(plan)) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(validateScalarSlice(plan, plan.loss_slice(), "loss",
                                         floatType(plan, plan.loss_slice())));
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

absl::Status validateOutputs(const plan::Plan &plan) {
  if (isForward(plan) == (plan.outputs_size() == 0)) {
    return invalid("a plan that runs forward has outputs, and one that trains "
                   "has none; there are ",
                   plan.outputs_size());
  }
  std::set<std::string> names;
  for (const plan::Output &output : plan.outputs()) {
    if (output.name().empty() || !names.insert(output.name()).second) {
      return invalid("output \"", output.name(),
                     "\" has no name or a taken one");
    }
    if (elementSize(output.type()) == 0 ||
        output.slice() >= uint32_t(plan.slices_size())) {
      return invalid("output ", output.name(), " has unknown type ",
                     output.type(), " or no slice");
    }
    const plan::Slice &slice = plan.slices(int(output.slice()));
    if (!slice.carried()) {
      return invalid(describeSlice(plan, output.slice()), " holds output ",
                     output.name(),
                     ", which outlives the program, and is not carried");
    }
    if (!(product(output.shape()) * elementSize(output.type()))
             .is(slice.bytes())) {
      return invalid("output ", output.name(), " has not the ", slice.bytes(),
                     " bytes of ", describeSlice(plan, output.slice()));
    }
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
