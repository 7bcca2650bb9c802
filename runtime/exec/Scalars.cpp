//===- Scalars.cpp - the numbers that change from step to step ------------===//

#include "runtime/exec/Scalars.h"

#include "runtime/plan/Mesh.h"
#include "runtime/plan/Supported.h"
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
  double lr =
      inputs.learning_rate.value_or(groupOf(plan, group).learning_rate());
  return scheduledRate(plan, lr, inputs.update);
}

absl::StatusOr<double> zerograph::scalarValue(const plan::Plan &plan,
                                              const std::string &name,
                                              const ScalarInputs &inputs,
                                              uint32_t group) {
  const plan::OptimizerGroup &optimizer = groupOf(plan, group);
  double lr = learningRate(plan, inputs, group);
  double update = double(inputs.update);
  double beta1 = scheduledBeta1(plan, optimizer.beta1(), inputs.update);
  std::optional<ScalarKind> kind = scalarKind(name);
  if (!kind) {
    return absl::UnimplementedError(
        absl::StrCat("the plan asks for the scalar '", name,
                     "'; this runtime knows ", scalarNames()));
  }
  switch (*kind) {
  case ScalarKind::learning_rate:
    return lr;
  case ScalarKind::gradient_scale:
    return 1 /
           (double(worldOf(plan)) *
            double(std::max<uint32_t>(1, plan.accumulate()))) /
           inputs.loss_scale;
  case ScalarKind::loss_scale:
    return inputs.loss_scale;
  case ScalarKind::step_size:
    return lr / (1 - std::pow(beta1, update));
  case ScalarKind::bias_correction2_sqrt:
    return std::sqrt(1 - std::pow(optimizer.beta2(), update));
  case ScalarKind::decay:
    return 1 - lr * optimizer.weight_decay();
  case ScalarKind::one_minus_beta1:
    return 1 - beta1;
  case ScalarKind::stop:
    return inputs.stop ? 1 : 0;
  case ScalarKind::weight:
    return inputs.weight;
  case ScalarKind::seed:
  case ScalarKind::step:
  case ScalarKind::sample_base:
  case ScalarKind::rank:
    break; // see wholeScalar
  }
  return absl::InternalError(absl::StrCat("no formula for '", name, "'"));
}

namespace {

/// Returns the value of a scalar that is a whole number, if it is one.
std::optional<uint64_t> wholeScalar(ScalarKind kind,
                                    const ScalarInputs &inputs) {
  switch (kind) {
  case ScalarKind::seed:
    return inputs.seed;
  case ScalarKind::step:
    return inputs.step;
  case ScalarKind::sample_base:
    return inputs.sample_base;
  case ScalarKind::rank:
    return inputs.rank;
  default:
    return std::nullopt;
  }
}

} // namespace

absl::Status zerograph::writeScalar(const plan::Plan &plan,
                                    const plan::Scalar &scalar,
                                    const ScalarInputs &inputs, void *to) {
  std::optional<ScalarKind> kind = scalarKind(scalar.name());
  if (std::optional<uint64_t> whole =
          kind ? wholeScalar(*kind, inputs) : std::nullopt) {
    std::memcpy(to, &*whole, sizeof(*whole));
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(double value,
                      scalarValue(plan, scalar.name(), inputs, scalar.group()));
  if (scalar.type() == plan::F64) {
    std::memcpy(to, &value, sizeof(value));
  } else {
    float rounded = float(value);
    std::memcpy(to, &rounded, sizeof(rounded));
  }
  return absl::OkStatus();
}
