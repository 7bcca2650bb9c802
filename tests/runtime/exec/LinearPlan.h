//===- LinearPlan.h - a whole training plan, by hand ----------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_EXEC_LINEARPLAN_H
#define ZEROGRAPH_TESTS_RUNTIME_EXEC_LINEARPLAN_H

#include "runtime/plan/PlanFile.h"

namespace zerograph::testing {

struct LinearOptions {
  uint32_t world = 1;
  uint32_t stage = 1; // 1: whole parameters; 3: shards
  uint32_t accumulate = 1;
  bool dump_gradients = false;
};

/// One unit of 3072 elements (parameter "w", 500 of them), micro-batches of
/// x[2, 8]: y = x * w[0..64), a loss, gradients, SGD. With real kernels.
LoadedPlan linearPlan(const LinearOptions &options);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_EXEC_LINEARPLAN_H
