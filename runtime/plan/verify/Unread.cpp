//===- Unread.cpp - nothing is done for nothing ---------------------------===//
//
// What a step writes is read by a later step, or carried, or dumped. Else it is
// there by mistake, or who should have read it reads something else.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Writers.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/External.h"

namespace zerograph::verify {

void checkUnread(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  std::vector<bool> dumped = readByRuntime(plan);
  for (int p = 0; p < plan.programs_size(); ++p) {
    int count = plan.programs(p).steps_size();
    std::vector<bool> used(count);
    // Ranks differ in where they read, not in who wrote it.
    Writers writers(plan, 0);
    for (int s = 0; s < count; ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      for (int i = 0; i < step.accesses_size(); ++i) {
        if (effectOf(step, i).reads) {
          writers.read(arenaRange(plan, step.accesses(i)),
                       [&](uint64_t, const Writers::Piece &piece) {
                         if (piece.origin != 0) {
                           used[piece.origin - 1] = true;
                         }
                       });
        }
      }
      for (int i = 0; i < step.accesses_size(); ++i) {
        const plan::Access &access = step.accesses(i);
        if (effectOf(step, i).writes) {
          writers.write(arenaRange(plan, access), uint64_t(s) + 1);
          if (plan.slices(access.slice()).carried() || dumped[access.slice()]) {
            used[s] = true;
          }
        }
      }
    }
    for (int s = 0; s < count; ++s) {
      if (!used[s]) {
        problems.add("needless step: nothing reads what ",
                     describeStep(plan, p, s), " writes");
      }
    }
  }
}

} // namespace zerograph::verify
