//===- StagedInputs.cpp - what the runtime gives to programs --------------===//

#include "runtime/plan/StagedInputs.h"

namespace zerograph {

bool StagedInput::isStopFlag() const {
  return scalar && scalar->kind() == plan::Scalar::STOP;
}

bool StagedInput::isPlace() const {
  return scalar && scalar->kind() == plan::Scalar::RANK;
}

bool StagedInput::isRanksOwn() const {
  if (input) {
    return input->per_sample();
  }
  auto kind = scalar ? scalar->kind() : plan::Scalar::INVALID;
  return kind == plan::Scalar::STOP || kind == plan::Scalar::WEIGHT ||
         kind == plan::Scalar::SAMPLE_BASE;
}

std::vector<StagedInput> stagedInputsOf(const plan::Plan &plan) {
  std::vector<StagedInput> arrivals(plan.slices_size());
  for (int i = 0; i < plan.inputs_size(); ++i) {
    arrivals[plan.inputs(i).slice()] = {&plan.inputs(i), nullptr, i};
  }
  for (int i = 0; i < plan.scalars_size(); ++i) {
    arrivals[plan.scalars(i).slice()] = {nullptr, &plan.scalars(i), i};
  }
  return arrivals;
}

} // namespace zerograph
