//===- PlanEdit.cpp - changes plans as a wrong compiler would -------------===//

#include "tests/mutations/PlanEdit.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/steps/Step.h"
#include "tests/runtime/plan/PlanBuilder.h"

#include <map>

namespace zerograph::testing {
namespace {

/// By step: the steps that have finished when it starts.
std::vector<std::vector<bool>> finishedBefore(const plan::Program &program) {
  int count = program.steps_size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  auto follow = [&](int step, int earlier) {
    before[step][earlier] = true;
    for (int i = 0; i < earlier; ++i) {
      before[step][i] = before[step][i] || before[earlier][i];
    }
  };
  for (int step = 0; step < count; ++step) {
    const plan::Step &at = program.steps(step);
    for (int earlier = step - 1; earlier >= 0; --earlier) {
      const plan::Step &other = program.steps(earlier);
      if (before[step][earlier]) {
        continue; // and so is all that it follows
      }
      if (other.stream() == at.stream() ||
          (isCollective(other) && isCollective(at)) ||
          std::count(at.waits().begin(), at.waits().end(), earlier) != 0) {
        follow(step, earlier);
      }
    }
  }
  return before;
}

bool conflict(const plan::Plan &plan, const plan::Step &a,
              const plan::Step &b) {
  for (int i = 0; i < a.accesses_size(); ++i) {
    for (int j = 0; j < b.accesses_size(); ++j) {
      if ((writes(a, i) || writes(b, j)) &&
          touch(plan, a.accesses(i), b.accesses(j))) {
        return true;
      }
    }
  }
  return false;
}

} // namespace

std::vector<At> steps(const plan::Plan &plan, Random &random,
                      const StepTest &test) {
  std::vector<At> found;
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      bool wanted = random.kind.empty() || random.kind == opName(step);
      if (wanted && test(step)) {
        found.push_back({p, s});
      }
    }
  }
  return random.shuffled(std::move(found));
}

const plan::Step &at(const plan::Plan &plan, At where) {
  return plan.programs(where.program).steps(where.step);
}

plan::Step &at(plan::Plan &plan, At where) {
  return *plan.mutable_programs(where.program)->mutable_steps(where.step);
}

std::string nameOf(const plan::Plan &plan, At where) {
  return describeStep(plan, where.program, where.step);
}

bool reads(const plan::Step &step, int index) {
  return effectOf(step, index).reads;
}

bool writes(const plan::Step &step, int index) {
  return effectOf(step, index).writes;
}

int unitOf(const plan::Plan &plan, int slice) {
  if (plan.slices(slice).has_holds()) {
    return int(plan.slices(slice).holds().unit());
  }
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (const plan::State &state : plan.units(unit).states()) {
      if (int(state.slice()) == slice) {
        return unit;
      }
    }
  }
  return -1;
}

bool updates(const plan::Plan &plan, const plan::Step &step) {
  for (int i = 0; i < step.accesses_size(); ++i) {
    int index = int(step.accesses(i).slice());
    const plan::Slice &slice = plan.slices(index);
    if (!isCollective(step) && writes(step, i) && slice.carried() &&
        (slice.slice_class() == plan::PARAM_SHARD ||
         slice.slice_class() == plan::OPTIMIZER) &&
        plan.units(unitOf(plan, index)).trainable()) {
      return true;
    }
  }
  return false;
}

bool touch(const plan::Plan &plan, const plan::Access &a,
           const plan::Access &b) {
  Range x = arenaRange(plan, a), y = arenaRange(plan, b);
  Mesh mesh(plan);
  for (uint64_t rank = 0; x.arena == y.arena && rank < worldOf(plan); ++rank) {
    uint64_t from = x.begin + mesh.offset(x.strides, uint32_t(rank));
    uint64_t to = y.begin + mesh.offset(y.strides, uint32_t(rank));
    if (from < to + y.bytes && to < from + x.bytes) {
      return true;
    }
  }
  return false;
}

void reorder(plan::Plan &plan, int number, const std::vector<int> &order) {
  plan::Program &program = *plan.mutable_programs(number);
  plan::Program old = program;
  std::map<uint32_t, uint32_t> places;
  program.clear_steps();
  for (int from : order) {
    plan::Step step = old.steps(from);
    step.clear_waits();
    for (uint32_t wait : old.steps(from).waits()) {
      if (places.count(wait) != 0) {
        step.add_waits(places[wait]);
      }
    }
    places[from] = program.steps_size();
    *program.add_steps() = std::move(step);
  }
}

std::vector<int> inOrder(const plan::Plan &plan, int program) {
  std::vector<int> order(plan.programs(program).steps_size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = int(i);
  }
  return order;
}

void restate(plan::Plan &plan) {
  for (plan::Program &program : *plan.mutable_programs()) {
    uint32_t sequence = 0;
    for (plan::Step &step : *program.mutable_steps()) {
      if (isCollective(step)) {
        step.set_sequence(sequence++);
      }
    }
  }
  stateSizes(plan);
}

bool loosened(const plan::Plan &before, const plan::Plan &after, int number) {
  const plan::Program &program = before.programs(number);
  auto was = finishedBefore(program);
  auto is = finishedBefore(after.programs(number));
  for (int late = 0; late < program.steps_size(); ++late) {
    for (int early = 0; early < late; ++early) {
      if (was[late][early] && !is[late][early] &&
          conflict(before, program.steps(early), program.steps(late))) {
        return true;
      }
    }
  }
  return false;
}

std::optional<std::string> unordered(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    auto before = finishedBefore(program);
    for (int late = 0; late < program.steps_size(); ++late) {
      for (int early = 0; early < late; ++early) {
        if (!before[late][early] &&
            conflict(plan, program.steps(early), program.steps(late))) {
          return absl::StrCat("steps ", early, " and ", late, " of \"",
                              program.name(), "\"");
        }
      }
    }
  }
  return std::nullopt;
}

} // namespace zerograph::testing
