//===- StepChecks.h - what the checks of steps ask of accesses ------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_STEPCHECKS_H
#define ZEROGRAPH_RUNTIME_PLAN_STEPCHECKS_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph::detail {

template <typename... Args>
absl::Status invalid(const Args &...args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// Each: OK, or what is wrong with the accesses of a step. The accesses must
// exist and be valid, but for the first.

absl::Status needAccesses(const plan::Step &step, int count);
absl::Status needMode(const plan::Step &step, int index,
                      std::initializer_list<plan::Mode> modes);
/// Accesses a and b share no byte on any rank.
absl::Status needApart(const plan::Plan &plan, const plan::Step &step, int a,
                       int b);
/// Access `index` begins at whole elements of `element` bytes on every rank.
absl::Status needAligned(const plan::Plan &plan, const plan::Step &step,
                         int index, uint64_t element);

} // namespace zerograph::detail

#endif // ZEROGRAPH_RUNTIME_PLAN_STEPCHECKS_H
