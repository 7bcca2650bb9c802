//===- StagedInputs.cpp - what the runtime gives to programs --------------===//

#include "runtime/plan/StagedInputs.h"

#include "runtime/plan/Supported.h"

namespace zerograph {

bool StagedInput::isStopFlag() const {
  return scalar && scalarKind(scalar->name()) == ScalarKind::stop;
}

bool StagedInput::isPlace() const {
  return scalar && scalarKind(scalar->name()) == ScalarKind::rank;
}

bool StagedInput::isRanksOwn() const {
  if (input) {
    return input->per_sample();
  }
  auto kind = scalar ? scalarKind(scalar->name()) : std::nullopt;
  return kind == ScalarKind::stop || kind == ScalarKind::weight ||
         kind == ScalarKind::sample_base;
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
