//===- Unread.cpp - nothing is done for nothing ---------------------------===//
//
// Finds what a step writes and no later step reads, or carries, or dumps. An
// arena ends where its last slice does.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkUnread(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  for (int i = 0; i < plan.arenas_size(); ++i) {
    const plan::Arena &arena = plan.arenas(i);
    if (uint64_t behind = arena.bytes() - peakOf(plan, i);
        behind >= arena.alignment()) {
      findings.waste.add(finding::kUnusedMemory, "arena ", i, " (",
                         nameOf(arena.space()), ") has ", behind,
                         " bytes behind its last slice");
    }
  }
  for (int p = 0; p < plan.programs_size(); ++p) {
    int count = plan.programs(p).steps_size();
    std::vector<bool> used(count);
    // By arena, who wrote the bytes of rank 0: ranks differ in where they read,
    // not in who wrote it.
    std::vector<ByteMap<int>> writers(plan.arenas_size());
    for (int s = 0; s < count; ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      for (int i = 0; i < step.accesses_size(); ++i) {
        if (effectOf(step, i).reads) {
          Range range = arenaRange(plan, step.accesses(i));
          writers[range.arena].visit(
              range.begin, range.begin + range.bytes,
              [&](uint64_t, uint64_t, int writer) { used[writer] = true; });
        }
      }
      for (int i = 0; i < step.accesses_size(); ++i) {
        if (effectOf(step, i).writes) {
          const plan::Access &access = step.accesses(i);
          Range range = arenaRange(plan, access);
          writers[range.arena].assign(range.begin, range.begin + range.bytes,
                                      s);
          if (plan.slices(int(access.slice())).carried() ||
              context.read_after[access.slice()]) {
            used[s] = true;
          }
        }
      }
    }
    for (int s = 0; s < count; ++s) {
      if (!used[s]) {
        findings.waste.add(finding::kNeedlessStep, "nothing reads what ",
                           describeStep(plan, p, s), " writes");
      }
    }
  }
}

} // namespace zerograph::verify
