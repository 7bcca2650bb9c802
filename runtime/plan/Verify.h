//===- Verify.h - is a plan safe to run? ----------------------------------===//
//
// Proves from the plan alone, for every rank and every interleaving that
// streams and waits allow:
//   - no two unordered steps touch the same bytes, one of them writing;
//   - no buffer is used before it is written, and buffers share bytes only one
//     after the other;
//   - every rank meets the same collectives in the same order, and no wait can
//     last for ever;
//   - inputs and scalars are copied once a run from the program's own slots,
//     which nobody but the runtime writes;
//   - bytes are read with the type they were written with, by a device that
//     reaches them;
//   - each gradient is reduced exactly once, updates see reduced gradients
//     only, and no rank reads what another one has the news of;
//   - collectives move the segments of the units that they name; every state of
//     a trainable unit is written once a step, from gradients and states of the
//     same elements; sums over micro-batches are zeroed once, after their use;
//   - the loss and the stop count are each made by one sum over the ranks.
// It checks the layout that the plan declares, whatever made it. What a kernel
// computes is not looked at.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace zerograph {

/// OK, or the first problems, a line each: the id (Findings.h), then the
/// program, the step and the slice. Any plan may be given; it is validated
/// first. About a second for 10,000 steps on 8 streams.
absl::Status verifyPlan(const plan::Plan &plan);

/// Returns what a safe plan does for nothing, a line each: waits for the own
/// stream, gathers of what is everywhere, results and reductions that nobody
/// uses, lives longer than their uses. Otherwise verifyPlan's error.
absl::StatusOr<std::vector<std::string>> findWaste(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_H
