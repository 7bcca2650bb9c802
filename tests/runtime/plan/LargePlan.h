//===- LargePlan.h - a plan as of a very large model ----------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_PLAN_LARGEPLAN_H
#define ZEROGRAPH_TESTS_RUNTIME_PLAN_LARGEPLAN_H

#include "runtime/plan/plan.pb.h"

namespace zerograph::testing {

/// A valid plan of stage 3 for 8 ranks on all seven streams. Each of `layers`
/// has 25 steps: its parameters are gathered, 16 kernels pass activations on,
/// of which one goes to a file and comes back, its gradients are reduced, and
/// it is updated. Buffers of a kind lie on the same few places in turn.
plan::Plan largePlan(int layers);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_PLAN_LARGEPLAN_H
