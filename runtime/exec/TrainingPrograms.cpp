//===- TrainingPrograms.cpp - what a step of training runs ----------------===//

#include "runtime/exec/TrainingPrograms.h"

#include "runtime/plan/Mesh.h"

using namespace zerograph;

namespace {

std::optional<unsigned> programOf(const plan::Plan &plan,
                                  plan::ProgramKind kind) {
  for (int i = 0; i < plan.programs_size(); ++i) {
    if (plan.programs(i).kind() == kind) {
      return unsigned(i);
    }
  }
  return std::nullopt;
}

} // namespace

absl::StatusOr<TrainingPrograms> TrainingPrograms::of(const plan::Plan &plan) {
  TrainingPrograms programs;
  programs.micro_batches = plan.accumulate();
  programs.update = programOf(plan, plan::UPDATE);
  auto micro = programOf(plan, programs.update ? plan::MICRO : plan::STEP);
  if (!micro) {
    return absl::InvalidArgumentError(
        "the plan trains nothing: it runs forward; compile the model without "
        "that, or use `zerograph run`");
  }
  programs.micro = *micro;
  programs.evaluate = programOf(plan, plan::EVALUATE);
  return programs;
}

void TrainingPrograms::moveBy(unsigned first) {
  micro += first;
  for (std::optional<unsigned> *one : {&update, &evaluate}) {
    if (*one) {
      **one += first;
    }
  }
}

double zerograph::gradientScale(const plan::Plan &plan) {
  return 1 / (double(worldOf(plan)) * double(plan.accumulate()));
}
