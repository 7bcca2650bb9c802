//===- TrainingPrograms.cpp - what a step of training runs ----------------===//

#include "runtime/exec/TrainingPrograms.h"

#include <algorithm>

using namespace zerograph;

namespace {

uint64_t microBatches(const plan::Plan &plan) {
  return std::max<uint32_t>(1, plan.accumulate());
}

std::optional<unsigned> programNamed(const plan::Plan &plan,
                                     const std::string &name) {
  for (int i = 0; i < plan.programs_size(); ++i) {
    if (plan.programs(i).name() == name) {
      return unsigned(i);
    }
  }
  return std::nullopt;
}

} // namespace

absl::StatusOr<TrainingPrograms> TrainingPrograms::of(const plan::Plan &plan) {
  TrainingPrograms programs;
  programs.micro_batches = microBatches(plan);
  if (auto step = programNamed(plan, "step");
      step && programs.micro_batches == 1) {
    programs.micro = *step;
    return programs;
  }
  auto micro = programNamed(plan, "micro");
  programs.update = programNamed(plan, "update");
  if (!micro || !programs.update) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan accumulates ", programs.micro_batches,
                     " micro-batches and lacks the program \"",
                     programs.micro_batches == 1 ? "step"
                     : micro                     ? "update"
                                                 : "micro",
                     "\""));
  }
  programs.micro = *micro;
  return programs;
}

double zerograph::gradientScale(const plan::Plan &plan) {
  return 1 / (double(plan.world()) * double(microBatches(plan)));
}
