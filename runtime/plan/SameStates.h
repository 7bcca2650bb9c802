//===- SameStates.h - plans that one trainer runs in turn -----------------===//
//
// Plans of one model and the same options, for batches of other shapes, keep
// parameters and what the optimizer keeps of them at the same bytes: what the
// one has trained, the other trains on. Everything else in an arena is gone
// when another plan has run.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_SAMESTATES_H
#define ZEROGRAPH_RUNTIME_PLAN_SAMESTATES_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace zerograph {

/// Returns an error, which says what differs, unless the two plans train the
/// same parameters in the same way, on as many ranks and the same devices, keep
/// them in the same places, and tell the same of a step: its norm, its metrics,
/// its gradients. Both are verified.
absl::Status needSameStates(const plan::Plan &first, const plan::Plan &other);

/// Returns the bytes of each arena in which all of these plans have room, which
/// have the same arenas.
std::vector<uint64_t> roomOf(const std::vector<const plan::Plan *> &plans);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_SAMESTATES_H
