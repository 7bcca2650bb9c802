//===- Arenas.cpp - stated and used memory --------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/verify/Checks.h"

#include <algorithm>

namespace zerograph::verify {

void checkArenas(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  std::vector<uint64_t> ends(plan.arenas_size());
  for (const plan::Slice &slice : plan.slices()) {
    uint64_t &end = ends[slice.arena()];
    end = std::max(end, slice.offset() + slice.bytes());
  }
  for (int i = 0; i < plan.arenas_size(); ++i) {
    const plan::Arena &arena = plan.arenas(i);
    if (arena.peak() != ends[i]) {
      problems.add("wrong peak: arena ", i, " (", nameOf(arena.space()),
                   ") states a peak of ", arena.peak(),
                   " bytes and its slices end at ", ends[i]);
    }
    if (arena.lower_bound() > arena.bytes()) {
      problems.add("wrong bound: arena ", i, " (", nameOf(arena.space()),
                   ") states that it needs ", arena.lower_bound(),
                   " bytes at least and has ", arena.bytes());
    }
  }
}

} // namespace zerograph::verify
