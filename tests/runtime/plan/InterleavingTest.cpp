//===- InterleavingTest.cpp - the verifier against real interleavings -----===//
//
// Random small schedules are run step by step: a step starts when its stream
// is idle and its waits are over, and ends some time later. The verifier must
// refuse exactly what can go wrong.
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/Validate.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

namespace zerograph {
namespace {

constexpr int kPool = 13; // lines of 64 bytes that the slices share, two each

/// One program of copies, fills and sums on five streams over a small pool.
plan::Plan randomSchedule(std::mt19937 &random, int steps, bool wait_often) {
  testing::PlanBuilder b(1, 0);
  b.total(*b.plan.mutable_loss(), "loss");
  b.total(*b.plan.mutable_stop(), "stop");
  uint64_t base = b.plan.arenas(0).bytes();
  uint32_t first = b.plan.slices_size();
  int slices = 2 + random() % 4;
  b.plan.mutable_arenas(0)->set_bytes(base + kPool * 64);
  for (int i = 0; i < slices; ++i) {
    uint32_t slice =
        b.slice("s" + std::to_string(i), plan::TRANSIENT, 128, false);
    b.plan.mutable_slices(slice)->set_offset(base +
                                             random() % (kPool - 1) * 64);
  }
  b.plan.mutable_arenas(0)->set_bytes(base + kPool * 64);
  b.program("step");
  uint32_t on[] = {testing::kCompute, testing::kGather, testing::kScatter,
                   b.stream("in", plan::COPY_IN),
                   b.stream("out", plan::COPY_OUT)};
  for (int i = 0; i < steps; ++i) {
    uint32_t stream = on[random() % 5];
    std::vector<uint32_t> waits;
    for (int j = 0; j < i; ++j) {
      if (b.plan.programs(0).steps(j).stream() != stream &&
          random() % 3 < (wait_often ? 2u : 1u)) {
        waits.push_back(j);
      }
    }
    auto pick = [&] { return first + uint32_t(random() % slices); };
    uint32_t from = pick();
    uint32_t to = pick();
    plan::Step step;
    bool apart = !overlap(Mesh(b.plan), {0, b.plan.slices(from).offset(), 128},
                          {0, b.plan.slices(to).offset(), 128});
    if (random() % 3 == 0 || !apart) {
      step.mutable_fill();
      *step.add_accesses() = b.all(to, plan::WRITE);
    } else if (random() % 4 == 0 &&
               (stream == testing::kGather || stream == testing::kScatter)) {
      step.mutable_all_reduce()->set_wire(plan::F32);
      step.mutable_all_reduce()->set_accumulator(plan::F32);
      *step.add_accesses() = b.all(from, plan::READ);
      *step.add_accesses() = b.all(to, plan::READ_WRITE);
    } else {
      step.mutable_copy();
      *step.add_accesses() = b.all(from, plan::READ);
      *step.add_accesses() = b.all(to, plan::WRITE);
    }
    b.add(stream, step, waits);
  }
  return b.finish();
}

/// Knows what has started and ended, and what may start next.
class Run {
public:
  explicit Run(const plan::Program &program) : program(program) {}

  bool mayStart(uint32_t started, uint32_t ended, int step) const {
    if (started >> step & 1) {
      return false;
    }
    const plan::Step &next = program.steps(step);
    for (int i = 0; i < step; ++i) {
      bool orders = program.steps(i).stream() == next.stream() ||
                    (isCollective(program.steps(i)) && isCollective(next));
      if (orders && !(ended >> i & 1)) {
        return false;
      }
    }
    for (uint32_t wait : next.waits()) {
      if (!(ended >> wait & 1)) {
        return false;
      }
    }
    return true;
  }

private:
  const plan::Program &program;
};

bool conflict(const plan::Plan &plan, const plan::Step &a,
              const plan::Step &b) {
  for (const plan::Access &x : a.accesses()) {
    for (const plan::Access &y : b.accesses()) {
      if ((x.mode() != plan::READ || y.mode() != plan::READ) &&
          overlap(Mesh(plan), arenaRange(plan, x), arenaRange(plan, y))) {
        return true;
      }
    }
  }
  return false;
}

/// True if some interleaving has two conflicting steps running at once: all
/// states are visited.
bool canRace(const plan::Plan &plan) {
  const plan::Program &program = plan.programs(0);
  Run run(program);
  int count = program.steps_size();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  std::vector<std::pair<uint32_t, uint32_t>> todo{{0, 0}};
  while (!todo.empty()) {
    auto [started, ended] = todo.back();
    todo.pop_back();
    if (!seen.emplace(started, ended).second) {
      continue;
    }
    uint32_t running = started & ~ended;
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < i; ++j) {
        if ((running >> i & 1) && (running >> j & 1) &&
            conflict(plan, program.steps(i), program.steps(j))) {
          return true;
        }
      }
    }
    for (int i = 0; i < count; ++i) {
      if (running >> i & 1) {
        todo.emplace_back(started, ended | 1u << i);
      }
      if (run.mayStart(started, ended, i)) {
        todo.emplace_back(started | 1u << i, ended);
      }
    }
  }
  return false;
}

/// True if one random interleaving reads anything but what was last written
/// through the same slice: memory remembers the slice of each line.
bool goesWrong(const plan::Plan &plan, std::mt19937 &random) {
  const plan::Program &program = plan.programs(0);
  Run run(program);
  int count = program.steps_size();
  std::vector<int> memory(plan.arenas(0).bytes(), -1);
  auto each = [&](int step, bool write, auto &&visit) {
    for (const plan::Access &access : program.steps(step).accesses()) {
      if (write ? access.mode() != plan::READ : access.mode() != plan::WRITE) {
        Range range = arenaRange(plan, access);
        for (uint64_t at = range.begin; at < range.begin + range.bytes;
             at += 64) {
          visit(memory[at], int(access.slice()));
        }
      }
    }
  };
  bool wrong = false;
  auto check = [&](int step) {
    each(step, false, [&](int holds, int slice) { wrong |= holds != slice; });
  };
  uint32_t started = 0;
  uint32_t ended = 0;
  while (ended + 1 != 1u << count) {
    int step = random() % count;
    if (run.mayStart(started, ended, step)) {
      started |= 1u << step;
      check(step);
    } else if ((started & ~ended) >> step & 1) {
      // Reads last until the end; a sum reads what it is about to write.
      check(step);
      each(step, true, [](int &holds, int slice) { holds = slice; });
      ended |= 1u << step;
    }
  }
  return wrong;
}

/// Returns what the checks of order and bytes say of a valid plan. These
/// schedules have no units, and sum no loss: the checks of those are not asked.
std::string problemsOf(const plan::Plan &plan) {
  absl::Status valid = validatePlan(plan);
  if (!valid.ok()) {
    return std::string(valid.message());
  }
  verify::VerifierContext context(plan);
  verify::Findings findings;
  for (auto check :
       {verify::checkStreams, verify::checkCollectiveOrder, verify::checkRaces,
        verify::checkLifetimes, verify::checkDefinitions}) {
    check(context, findings);
  }
  std::string text;
  for (const std::string &line : findings.problems.kept()) {
    text += line + "\n";
  }
  return text;
}

TEST(Interleaving, RacesAreExactlyWhatCanOverlapInTime) {
  std::mt19937 random(3);
  int races = 0;
  int clean = 0;
  for (int i = 0; i < 2000; ++i) {
    plan::Plan plan = randomSchedule(random, 2 + random() % 5, i % 2 == 0);
    verify::Findings findings;
    verify::checkRaces(verify::VerifierContext(plan), findings);
    bool none = findings.problems.kept().empty();
    ASSERT_EQ(none, !canRace(plan)) << plan.DebugString();
    ++(none ? clean : races);
  }
  EXPECT_GT(races, 200);
  EXPECT_GT(clean, 200);
}

TEST(Interleaving, WhatPassesNeverGoesWrong) {
  std::mt19937 random(4);
  int passed = 0;
  int failures_found = 0;
  for (int i = 0; i < 6000; ++i) {
    plan::Plan plan = randomSchedule(random, 2 + random() % 6, true);
    bool ok = problemsOf(plan).empty();
    passed += ok;
    for (int j = 0; j < 20; ++j) {
      bool wrong = goesWrong(plan, random);
      ASSERT_FALSE(ok && wrong) << plan.DebugString();
      failures_found += wrong;
    }
  }
  EXPECT_GT(passed, 100);
  EXPECT_GT(failures_found, 1000);
}

// Liveness by issue order would let A and B share bytes: A's last use comes
// before B's first in the list, and nothing makes it so in time.
TEST(Interleaving, IssueOrderIsNoOrder) {
  testing::PlanBuilder b(1, 0);
  b.total(*b.plan.mutable_loss(), "loss");
  b.total(*b.plan.mutable_stop(), "stop");
  uint32_t a = b.slice("A", plan::TRANSIENT, 64, false);
  uint32_t c = b.slice("C", plan::TRANSIENT, 64, false);
  uint32_t shares = b.slice("B", plan::TRANSIENT, 64, false);
  b.plan.mutable_slices(shares)->set_offset(b.plan.slices(a).offset());
  b.program("step");
  b.fill(testing::kCompute, b.all(a, plan::WRITE));
  b.launch("use A", {b.all(a, plan::READ), b.all(c, plan::WRITE)});
  b.fill(testing::kGather, b.all(shares, plan::WRITE));
  plan::Plan plan = b.finish();
  std::string message = problemsOf(plan);
  expectSays(message, std::string(finding::kRace),
             std::string(finding::kSharedBytes));
  EXPECT_TRUE(canRace(plan));
  plan.mutable_programs(0)->mutable_steps(2)->add_waits(1);
  EXPECT_EQ(problemsOf(plan), "");
  EXPECT_FALSE(canRace(plan));
}

} // namespace
} // namespace zerograph
