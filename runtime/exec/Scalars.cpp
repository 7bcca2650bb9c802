//===- Scalars.cpp - the numbers that change from step to step ------------===//

#include "runtime/exec/Scalars.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/schedules/Schedule.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace zerograph;

namespace {

const plan::OptimizerGroup &groupOf(const plan::Plan &plan, uint32_t group) {
  static const plan::OptimizerGroup none;
  return group < uint32_t(plan.groups_size()) ? plan.groups(int(group)) : none;
}

} // namespace

double zerograph::learningRate(const plan::Plan &plan,
                               const ScalarInputs &inputs, uint32_t group) {
  if (auto fixed = inputs.fixed_rates.find(group);
      fixed != inputs.fixed_rates.end()) {
    return fixed->second;
  }
  double lr =
      inputs.learning_rate.value_or(groupOf(plan, group).learning_rate());
  return scheduledRate(plan, lr, inputs.update);
}

absl::StatusOr<double> zerograph::scalarValue(const plan::Plan &plan,
                                              plan::Scalar::Kind kind,
                                              const ScalarInputs &inputs,
                                              uint32_t group) {
  const plan::OptimizerGroup &optimizer = groupOf(plan, group);
  double lr = learningRate(plan, inputs, group);
  double update = double(inputs.update);
  double beta1 = scheduledBeta1(plan, optimizer.beta1(), inputs.update);
  switch (kind) {
  case plan::Scalar::LEARNING_RATE:
    return lr;
  case plan::Scalar::GRADIENT_SCALE:
    return 1 /
           (double(worldOf(plan)) *
            double(std::max<uint32_t>(1, plan.accumulate()))) /
           inputs.loss_scale;
  case plan::Scalar::LOSS_SCALE:
    return inputs.loss_scale;
  case plan::Scalar::STEP_SIZE:
    return lr / (1 - std::pow(beta1, update));
  case plan::Scalar::BIAS_CORRECTION2_SQRT:
    return std::sqrt(1 - std::pow(optimizer.beta2(), update));
  case plan::Scalar::DECAY:
    return 1 - lr * optimizer.weight_decay();
  case plan::Scalar::ONE_MINUS_BETA1:
    return 1 - beta1;
  case plan::Scalar::STOP:
    return inputs.stop ? 1 : 0;
  case plan::Scalar::WEIGHT:
    return inputs.weight;
  default:
    return absl::InternalError(
        absl::StrCat("no formula for the scalar ", nameOf(kind)));
  }
}

namespace {

/// Returns the value of a scalar that is a whole number, if it is one.
std::optional<uint64_t> wholeScalar(plan::Scalar::Kind kind,
                                    const ScalarInputs &inputs) {
  switch (kind) {
  case plan::Scalar::SEED:
    return inputs.seed;
  case plan::Scalar::STEP:
    return inputs.step;
  case plan::Scalar::SAMPLE_BASE:
    return inputs.sample_base;
  case plan::Scalar::RANK:
    return inputs.rank;
  default:
    return std::nullopt;
  }
}

} // namespace

absl::Status zerograph::writeScalar(const plan::Plan &plan,
                                    const plan::Scalar &scalar,
                                    const ScalarInputs &inputs, void *to) {
  if (std::optional<uint64_t> whole = wholeScalar(scalar.kind(), inputs)) {
    std::memcpy(to, &*whole, sizeof(*whole));
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(double value,
                      scalarValue(plan, scalar.kind(), inputs, scalar.group()));
  if (scalar.type() == plan::F64) {
    std::memcpy(to, &value, sizeof(value));
  } else {
    float rounded = float(value);
    std::memcpy(to, &rounded, sizeof(rounded));
  }
  return absl::OkStatus();
}
