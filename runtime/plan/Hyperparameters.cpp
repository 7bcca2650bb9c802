//===- Hyperparameters.cpp - the numbers of a plan's optimizer ------------===//

#include "runtime/plan/Hyperparameters.h"

namespace zerograph {

options::Hyperparameters hyperparametersOf(const plan::OptimizerGroup &group) {
  return {
      .lr = group.learning_rate(),
      .beta1 = group.beta1(),
      .beta2 = group.beta2(),
      .eps = group.epsilon(),
      .weight_decay = group.weight_decay(),
      .momentum = group.momentum(),
      .nesterov = double(group.nesterov()),
      .lamb_min_coeff = group.lamb_min_coeff(),
      .lamb_max_coeff = group.lamb_max_coeff(),
  };
}

void setHyperparameters(const options::Hyperparameters &values,
                        plan::OptimizerGroup &group) {
  group.set_learning_rate(values.lr);
  group.set_beta1(values.beta1);
  group.set_beta2(values.beta2);
  group.set_epsilon(values.eps);
  group.set_weight_decay(values.weight_decay);
  group.set_momentum(values.momentum);
  group.set_nesterov(values.nesterov != 0);
  group.set_lamb_min_coeff(values.lamb_min_coeff);
  group.set_lamb_max_coeff(values.lamb_max_coeff);
}

} // namespace zerograph
