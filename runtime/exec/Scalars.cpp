//===- Scalars.cpp - the numbers that change from step to step ------------===//

#include "runtime/exec/Scalars.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace zerograph;

absl::StatusOr<double> zerograph::scalarValue(const plan::Plan &plan,
                                              const std::string &name,
                                              const ScalarInputs &inputs) {
  const plan::Optimizer &optimizer = plan.optimizer();
  double lr = inputs.learning_rate;
  double step = double(inputs.step);
  if (name == "learning_rate") {
    return lr;
  }
  if (name == "gradient_scale") {
    return 1 / (double(plan.world()) *
                double(std::max<uint32_t>(1, plan.accumulate())));
  }
  if (name == "step_size") {
    return lr / (1 - std::pow(optimizer.beta1(), step));
  }
  if (name == "bias_correction2_sqrt") {
    return std::sqrt(1 - std::pow(optimizer.beta2(), step));
  }
  if (name == "decay") {
    return 1 - lr * optimizer.weight_decay();
  }
  if (name == "stop") {
    return inputs.stop ? 1 : 0;
  }
  return absl::UnimplementedError(absl::StrCat(
      "the plan asks for the scalar '", name,
      "'; this runtime knows learning_rate, gradient_scale, step_size, "
      "bias_correction2_sqrt, decay and stop"));
}

absl::Status zerograph::writeScalars(const plan::Plan &plan,
                                     const ScalarInputs &inputs,
                                     const RankMemory &memory) {
  for (const plan::Scalar &scalar : plan.scalars()) {
    ZG_ASSIGN_OR_RETURN(double value, scalarValue(plan, scalar.name(), inputs));
    float rounded = float(value);
    std::memcpy(memory.slice(plan, scalar.slice()), &rounded, sizeof(rounded));
  }
  return absl::OkStatus();
}
