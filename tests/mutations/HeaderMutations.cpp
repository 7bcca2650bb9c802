//===- HeaderMutations.cpp - inputs, scalars, sizes of the whole ----------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

#include <limits>

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

plan::Input &anyInput(plan::Plan &plan, Random &random) {
  return *plan.mutable_inputs(int(random.below(plan.inputs_size())));
}

/// Changes the type to one of the same size, where there is one.
Change inputType(plan::Plan &plan, Random &random) {
  plan::Input &input = anyInput(plan, random);
  input.set_type(input.type() == plan::I64 ? plan::F64 : plan::I32);
  return absl::StrCat("input ", input.name(), " is ",
                      zerograph::nameOf(input.type()));
}

Change inputShape(plan::Plan &plan, Random &random) {
  plan::Input &input = anyInput(plan, random);
  input.set_shape(0, input.shape(0) + 1);
  return absl::StrCat("input ", input.name(), " has more samples");
}

Change inputRange(plan::Plan &plan, Random &random) {
  for (plan::Input &input : *plan.mutable_inputs()) {
    if (input.has_max()) {
      random.below(2) == 0 ? input.clear_min() : input.set_min(input.max() + 1);
      return absl::StrCat("legal values of ", input.name());
    }
  }
  return std::nullopt;
}

Change oneInputSlice(plan::Plan &plan, Random &random) {
  if (plan.inputs_size() < 2) {
    return std::nullopt;
  }
  plan.mutable_inputs(1)->set_slice(plan.inputs(0).slice());
  return "two inputs in one slice";
}

/// The flag to stop, and another.
Change swapScalars(plan::Plan &plan, Random &random) {
  int count = plan.scalars_size();
  int i = int(random.below(count));
  for (plan::Scalar &stop : *plan.mutable_scalars()) {
    plan::Scalar &other = *plan.mutable_scalars(i);
    if (stop.kind() == plan::Scalar::STOP && &stop != &other) {
      stop.set_kind(other.kind());
      other.set_kind(plan::Scalar::STOP);
      return absl::StrCat("scalars stop and ", zerograph::nameOf(stop.kind()),
                          " swapped");
    }
  }
  return std::nullopt;
}

Change unknownScalar(plan::Plan &plan, Random &random) {
  plan.mutable_scalars(int(random.below(plan.scalars_size())))
      ->set_kind(plan::Scalar::Kind(99));
  return "a scalar of an unknown kind";
}

Change lossIsStop(plan::Plan &plan, Random &random) {
  uint32_t loss = plan.loss().slice();
  plan.mutable_loss()->set_slice(plan.stop().slice());
  plan.mutable_stop()->set_slice(loss);
  return "loss and stop count swapped";
}

Change lossElsewhere(plan::Plan &plan, Random &random) {
  uint32_t slice = plan.scalars(int(random.below(plan.scalars_size()))).slice();
  plan::Total &total =
      random.below(2) == 0 ? *plan.mutable_loss() : *plan.mutable_stop();
  total.set_slice(slice);
  return absl::StrCat("loss or stop count in ", describeSlice(plan, slice));
}

Change totalAxes(plan::Plan &plan, Random &random) {
  if (worldOf(plan) == 1) {
    return std::nullopt; // of any ranks
  }
  (random.below(2) == 0 ? plan.mutable_loss() : plan.mutable_stop())
      ->clear_axes();
  return "loss or stop count of one rank alone";
}

Change scalarType(plan::Plan &plan, Random &random) {
  plan::Scalar &scalar =
      *plan.mutable_scalars(int(random.below(plan.scalars_size())));
  scalar.set_type(scalar.type() == plan::I64   ? plan::F64
                  : scalar.type() == plan::F64 ? plan::I64
                                               : plan::I32);
  return absl::StrCat("scalar ", zerograph::nameOf(scalar.kind()), " is ",
                      zerograph::nameOf(scalar.type()));
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

Change world(plan::Plan &plan, Random &random) {
  const uint32_t worlds[] = {0, 5, worldOf(plan) + 1, 1 << 17};
  plan.mutable_mesh(0)->set_size(worlds[random.below(4)]);
  return absl::StrCat(worldOf(plan), " ranks");
}

Change axis(plan::Plan &plan, Random &random) {
  plan::Axis &second = *plan.add_mesh();
  second.set_name(random.below(2) == 0 ? "data" : "model");
  second.set_size(1);
  return absl::StrCat("an axis ", second.name());
}

Change accumulate(plan::Plan &plan, Random &random) {
  if (plan.programs(0).kind() == plan::MICRO) {
    return std::nullopt; // another plan, as safe
  }
  plan.set_accumulate(plan.accumulate() + 1 + random.below(3));
  return absl::StrCat(plan.accumulate(), " micro-batches");
}

Change microBatch(plan::Plan &plan, Random &random) {
  const uint64_t sizes[] = {0, plan.micro_batch() + 1, uint64_t(1) << 63};
  plan.set_micro_batch(sizes[random.below(3)]);
  return absl::StrCat(plan.micro_batch(), " samples");
}

Change optimizer(plan::Plan &plan, Random &random) {
  plan::OptimizerGroup &optimizer = *plan.mutable_groups(0);
  if (random.below(2) == 0) {
    optimizer.set_learning_rate(std::numeric_limits<double>::infinity());
    return "an infinite learning rate";
  }
  optimizer.set_kind("rmsprop");
  return "optimizer rmsprop";
}

Change schedule(plan::Plan &plan, Random &random) {
  plan::Schedule &schedule = *plan.mutable_schedule();
  if (random.below(2) == 0) {
    schedule.set_kind("sine");
    return "a schedule that does not exist";
  }
  schedule.set_cycle_min_lr(0.5);
  return "a number that the schedule has not";
}

Change dumpGradients(plan::Plan &plan, Random &random) {
  if (plan.dump_gradients() || plan.accumulate() > 1) {
    return std::nullopt; // sums that are carried may be dumped or not
  }
  plan.set_dump_gradients(true);
  return "gradients to be dumped";
}

Change target(plan::Plan &plan, Random &random) {
  plan::Target &target = *plan.mutable_devices(0);
  switch (random.below(5)) {
  case 0:
    target.set_device("cuda");
    return "for device cuda";
  case 1:
    target.set_math_library("oneDNN 1.0");
    return "for another library";
  case 2:
    target.set_math_isa("sse41");
    return "for another instruction set of the library";
  case 3:
    target.set_cut_version(target.cut_version() + 1);
    return "for another way to cut library calls";
  default:
    target.add_features("zgbogus");
    return "for a processor with a feature that none has";
  }
}

Change noModule(plan::Plan &plan, Random &random) {
  plan.clear_modules();
  return "no machine code";
}

} // namespace

std::vector<Mutation> headerMutations() {
  return {
      {"inputs", "element type", inputType, {kWrongType}},
      {"inputs", "shape", inputShape, {kInvalidInput}},
      {"inputs", "legal values", inputRange, {kInvalidInput}},
      {"inputs",
       "two in a slice",
       oneInputSlice,
       {kAmbiguousSlice, kInvalidInput}},
      {"scalars",
       "stop and another swapped",
       swapScalars,
       {kNoAgreement, kInvalidScalar}},
      {"scalars", "unknown", unknownScalar, {kInvalidScalar}},
      {"scalars", "loss and stop swapped", lossIsStop, {kNoAgreement}},
      {"scalars", "loss or stop elsewhere", lossElsewhere, {kInvalidTotal}},
      {"scalars", "ranks of loss or stop", totalAxes, {kNoAgreement}},
      {"scalars", "type", scalarType, {kInvalidScalar}},
      {"header",
       "ranks",
       world,
       {kInvalidHeader, kInvalidUnit, kMissingReduction}},
      {"header",
       "another axis",
       axis,
       {kInvalidHeader, kNotSupported, kInvalidStep}},
      {"header", "micro-batches", accumulate, {kInvalidProgram}},
      {"header", "samples", microBatch, {kInvalidHeader, kInvalidInput}},
      {"header", "optimizer", optimizer, {kInvalidHeader}},
      {"header", "schedule", schedule, {kInvalidHeader}},
      {"header", "dumping of gradients", dumpGradients, {kInvalidUnit}},
      {"header",
       "target",
       target,
       {"this machine cannot run the plan", kInvalidKernel}},
      {"header", "no machine code", noModule, {kInvalidKernel}},
  };
}

} // namespace zerograph::testing
