//===- Statements.cpp - what the plan says of memory and traffic ----------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/verify/Checks.h"

#include <algorithm>

namespace zerograph::verify {

namespace {

uint64_t alignUp(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Most aligned bytes live at once, in issue order.
uint64_t leastBytes(const plan::Plan &plan, int arena) {
  uint64_t alignment = plan.arenas(arena).alignment();
  uint64_t carried = 0;
  std::vector<std::vector<int64_t>> changes(plan.programs_size());
  for (int p = 0; p < plan.programs_size(); ++p) {
    changes[p].resize(plan.programs(p).steps_size() + 1);
  }
  for (const plan::Slice &slice : plan.slices()) {
    if (slice.arena() != uint32_t(arena)) {
      continue;
    }
    uint64_t bytes = alignUp(slice.bytes(), alignment);
    carried += slice.carried() ? bytes : 0;
    for (const plan::Lifetime &life : slice.lifetimes()) {
      changes[life.program()][life.first()] += bytes;
      changes[life.program()][life.last() + 1] -= bytes;
    }
  }
  uint64_t most = 0;
  for (const std::vector<int64_t> &program : changes) {
    uint64_t live = 0;
    for (int64_t change : program) {
      live += change;
      most = std::max(most, live);
    }
  }
  return carried + most;
}

} // namespace

namespace {

void checkArenas(const plan::Plan &plan, Problems &problems) {
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
    if (arena.bytes() != alignUp(ends[i], arena.alignment())) {
      problems.add("wrong size: arena ", i, " (", nameOf(arena.space()),
                   ") has ", arena.bytes(), " bytes and its slices end at ",
                   ends[i]);
    }
    if (uint64_t least = leastBytes(plan, i); arena.lower_bound() != least) {
      problems.add("wrong bound: arena ", i, " (", nameOf(arena.space()),
                   ") states that it needs ", arena.lower_bound(),
                   " bytes at least; most of them live at once are ", least);
    }
  }
}

void checkTraffic(const plan::Plan &plan, Problems &problems) {
  Traffic traffic = trafficOf(plan);
  auto compare = [&](const char *name, Checked sum, uint64_t predicted) {
    if (!sum.is(predicted)) {
      problems.add("wrong prediction: the plan states ", predicted,
                   " bytes of ", name,
                   " traffic a step and its collectives make ",
                   sum.value() ? absl::StrCat(*sum.value())
                               : std::string("more than 64 bits hold"));
    }
  };
  const plan::Prediction &stated = plan.prediction();
  compare("gather", traffic.gather, stated.gather_bytes());
  compare("reduce", traffic.reduce, stated.reduce_bytes());
  compare("scalar", traffic.scalar, stated.scalar_bytes());
}

} // namespace

void checkStatements(const Subject &subject, Findings &findings) {
  checkArenas(subject.plan, findings.problems);
  checkTraffic(subject.plan, findings.problems);
}

} // namespace zerograph::verify
