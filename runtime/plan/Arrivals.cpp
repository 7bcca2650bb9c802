//===- Arrivals.cpp - what the runtime gives to programs ------------------===//

#include "runtime/plan/Arrivals.h"

#include "runtime/plan/Supported.h"

namespace zerograph {

bool Arrival::isStopFlag() const {
  return scalar && scalarKind(scalar->name()) == ScalarKind::stop;
}

bool Arrival::isPlace() const {
  return scalar && scalarKind(scalar->name()) == ScalarKind::rank;
}

bool Arrival::isRanksOwn() const {
  if (input) {
    return input->per_sample();
  }
  auto kind = scalar ? scalarKind(scalar->name()) : std::nullopt;
  return kind == ScalarKind::stop || kind == ScalarKind::weight ||
         kind == ScalarKind::sample_base;
}

std::vector<Arrival> arrivalsOf(const plan::Plan &plan) {
  std::vector<Arrival> arrivals(plan.slices_size());
  for (int i = 0; i < plan.inputs_size(); ++i) {
    arrivals[plan.inputs(i).slice()] = {&plan.inputs(i), nullptr, i};
  }
  for (int i = 0; i < plan.scalars_size(); ++i) {
    arrivals[plan.scalars(i).slice()] = {nullptr, &plan.scalars(i), i};
  }
  return arrivals;
}

} // namespace zerograph
