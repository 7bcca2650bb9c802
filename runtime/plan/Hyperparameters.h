//===- Hyperparameters.h - the numbers of a plan's optimizer --------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_HYPERPARAMETERS_H
#define ZEROGRAPH_RUNTIME_PLAN_HYPERPARAMETERS_H

#include "options/Hyperparameters.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// Returns the numbers of a group.
options::Hyperparameters hyperparametersOf(const plan::OptimizerGroup &group);

/// Sets the numbers of a group.
void setHyperparameters(const options::Hyperparameters &values,
                        plan::OptimizerGroup &group);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_HYPERPARAMETERS_H
