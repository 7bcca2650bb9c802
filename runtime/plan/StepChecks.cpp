//===- StepChecks.cpp - what the checks of steps ask of accesses ----------===//

#include "runtime/plan/StepChecks.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"

namespace zerograph::detail {

absl::Status needAccesses(const plan::Step &step, int count) {
  if (step.accesses_size() != count) {
    return invalid("has ", step.accesses_size(), " accesses and needs ", count);
  }
  return absl::OkStatus();
}

absl::Status needMode(const plan::Step &step, int index,
                      std::initializer_list<plan::Mode> modes) {
  for (plan::Mode mode : modes) {
    if (step.accesses(index).mode() == mode) {
      return absl::OkStatus();
    }
  }
  return invalid("access ", index, " is ", nameOf(step.accesses(index).mode()),
                 " and should be ", nameOf(*modes.begin()));
}

absl::Status needApart(const plan::Plan &plan, const plan::Step &step, int a,
                       int b) {
  if (overlap(arenaRange(plan, step.accesses(a)),
              arenaRange(plan, step.accesses(b)), plan.world())) {
    return invalid("accesses ", a, " and ", b, " share bytes, to ",
                   describeSlice(plan, step.accesses(a).slice()), " and ",
                   describeSlice(plan, step.accesses(b).slice()));
  }
  return absl::OkStatus();
}

absl::Status needAligned(const plan::Plan &plan, const plan::Step &step,
                         int index, uint64_t element) {
  const plan::Access &access = step.accesses(index);
  if (access.offset() % element != 0 || access.rank_stride() % element != 0) {
    return invalid("access ", index, " to ",
                   describeSlice(plan, access.slice()), " begins at byte ",
                   access.offset(), " + rank * ", access.rank_stride(),
                   "; both must be multiples of ", element);
  }
  return absl::OkStatus();
}

} // namespace zerograph::detail
