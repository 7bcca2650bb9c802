//===- ShadowRun.h - runs a plan, checked or not --------------------------===//

#ifndef ZEROGRAPH_TESTS_SHADOW_SHADOWRUN_H
#define ZEROGRAPH_TESTS_SHADOW_SHADOWRUN_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <functional>
#include <optional>
#include <string>

namespace zerograph::testing {

/// Trains some steps from the plan's own weights on ranks that are threads, and
/// gives a hash of the loss and all states of all ranks. The plan is not
/// verified: that is what this is for. With a seed, on shadow devices.
absl::StatusOr<uint64_t> runPlan(const plan::Plan &plan,
                                 const std::string &data, int steps,
                                 std::optional<uint64_t> seed);

/// The result of `function`, called in a process of its own; none where that
/// crashed, or took longer than `seconds`.
std::optional<int> inChild(const std::function<int()> &function,
                           unsigned seconds);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SHADOW_SHADOWRUN_H
