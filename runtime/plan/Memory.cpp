//===- Memory.cpp - where a plan's bytes go -------------------------------===//

#include "runtime/plan/Memory.h"

#include <algorithm>

namespace zerograph {

std::vector<std::optional<Life>> livesOf(const plan::Plan &plan, int program) {
  std::vector<std::optional<Life>> lives(plan.slices_size());
  const plan::Program &steps = plan.programs(program);
  for (uint32_t s = 0; s < uint32_t(steps.steps_size()); ++s) {
    for (const plan::Access &access : steps.steps(int(s)).accesses()) {
      if (access.bytes() == 0 || plan.slices(int(access.slice())).carried()) {
        continue;
      }
      std::optional<Life> &life = lives[access.slice()];
      life = Life{life ? life->first : s, s};
    }
  }
  return lives;
}

namespace {

/// Calls visit(step, live bytes by class) for each step of a program with these
/// lives, of the slices that `counts` accepts. A program without steps is
/// visited once.
template <typename Counts, typename Visit>
void walk(const plan::Plan &plan, int program,
          const std::vector<std::optional<Life>> &lives, Counts counts,
          Visit visit) {
  int steps = std::max(1, plan.programs(program).steps_size());
  std::vector<std::vector<int>> begins(steps);
  std::vector<std::vector<int>> ends(steps);
  ClassBytes live{};
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    if (!counts(slice)) {
      continue;
    }
    if (slice.carried()) {
      live[slice.slice_class()] += slice.bytes();
    }
    if (lives[i]) {
      begins[lives[i]->first].push_back(i);
      ends[lives[i]->last].push_back(i);
    }
  }
  for (int step = 0; step < steps; ++step) {
    for (int i : begins[step]) {
      live[plan.slices(i).slice_class()] += plan.slices(i).bytes();
    }
    visit(uint32_t(step), live);
    for (int i : ends[step]) {
      live[plan.slices(i).slice_class()] -= plan.slices(i).bytes();
    }
  }
}

} // namespace

uint64_t arenaBytes(const plan::Plan &plan, plan::Space space) {
  uint64_t bytes = 0;
  for (const plan::Arena &arena : plan.arenas()) {
    bytes += arena.space() == space ? arena.bytes() : 0;
  }
  return bytes;
}

uint64_t statesOnDevice(const plan::Plan &plan) {
  uint64_t bytes = 0;
  for (const plan::Slice &slice : plan.slices()) {
    bool isState = slice.slice_class() == plan::PARAM_SHARD ||
                   slice.slice_class() == plan::OPTIMIZER;
    if (isState && slice.carried() &&
        plan.arenas(slice.arena()).space() == plan::DEVICE) {
      bytes += slice.bytes();
    }
  }
  return bytes;
}

uint64_t activationsOnHost(const plan::Plan &plan) {
  uint64_t bytes = 0;
  for (const plan::Slice &slice : plan.slices()) {
    if (slice.slice_class() == plan::ACTIVATION &&
        plan.arenas(slice.arena()).space() != plan::DEVICE) {
      bytes += slice.bytes();
    }
  }
  return bytes;
}

std::vector<ArenaMemory> memoryOf(const plan::Plan &plan) {
  std::vector<ArenaMemory> arenas(plan.arenas_size());
  for (int p = 0; p < plan.programs_size(); ++p) {
    std::vector<std::optional<Life>> lives = livesOf(plan, p);
    for (size_t arena = 0; arena < arenas.size(); ++arena) {
      ArenaMemory &memory = arenas[arena];
      ProgramMemory &peak = memory.programs.emplace_back();
      walk(
          plan, p, lives,
          [&](const plan::Slice &slice) { return slice.arena() == arena; },
          [&](uint32_t step, const ClassBytes &live) {
            uint64_t sum = 0;
            for (size_t i = 0; i < live.size(); ++i) {
              sum += live[i];
              memory.class_peaks[i] = std::max(memory.class_peaks[i], live[i]);
            }
            if (sum > peak.live) {
              peak = {step, sum, live};
            }
          });
    }
  }
  return arenas;
}

/// The last byte of the arena's slices that `counts` accepts.
template <typename Counts>
static uint64_t endOf(const plan::Plan &plan, int arena, Counts counts) {
  uint64_t end = 0;
  for (const plan::Slice &slice : plan.slices()) {
    if (slice.arena() == uint32_t(arena) && counts(slice)) {
      end = std::max(end, slice.offset() + slice.bytes());
    }
  }
  return end;
}

uint64_t peakOf(const plan::Plan &plan, int arena) {
  return endOf(plan, arena, [](const plan::Slice &) { return true; });
}

uint64_t writtenEnd(const plan::Plan &plan, int arena) {
  return endOf(plan, arena, [](const plan::Slice &slice) {
    return slice.slice_class() != plan::STAGING || slice.carried();
  });
}

ModelState modelState(const plan::Plan &plan) {
  ModelState state;
  for (int p = 0; p < plan.programs_size(); ++p) {
    walk(
        plan, p, livesOf(plan, p),
        [&](const plan::Slice &slice) {
          return plan.arenas(slice.arena()).space() == plan::DEVICE;
        },
        [&](uint32_t, const ClassBytes &live) {
          auto raise = [](uint64_t &peak, uint64_t now) {
            peak = std::max(peak, now);
          };
          raise(state.parameters,
                live[plan::PARAM_SHARD] + live[plan::GATHERED]);
          raise(state.gradients, live[plan::GRAD] + live[plan::GRAD_SHARD]);
          raise(state.optimizer, live[plan::OPTIMIZER]);
        });
  }
  return state;
}

} // namespace zerograph
