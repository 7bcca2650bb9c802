//===- Warmup.cpp - DeepSpeed's WarmupLR and what follows a warm-up -------===//
//
// `warmup`, `warmup-decay` and `warmup-cosine` are DeepSpeed's WarmupLR,
// WarmupDecayLR and WarmupCosineLR. DeepSpeed asks its schedule after an update
// for the rate of the next, and counts those calls from 0. So update u has the
// rate of i = u - 2, and the first one the rate at which the schedule was made:
// warmup_min_lr, or 0 of `warmup-cosine`. With N = max(2, warmup_steps),
// T = total_steps:
//
//   gamma, i < N:   ln(i + 1) / ln(N)  (log)   or   i / N  (linear)
//   warmup:         warmup_min_lr + (lr - warmup_min_lr) * gamma, then lr
//   warmup-decay:   the same, with gamma = max(0, (T - i) / max(1, T - N)) then
//   warmup-cosine:  lr * (m + gamma * (1 - m)), m = warmup_min_ratio, then
//                   lr * (c + (1 - c) * (1 + cos(pi * p)) / 2),
//                   c = cosine_min_ratio, p = (i - N + 1) / max(1, T - N) <= 1
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/schedules/Schedule.h"

#include <algorithm>
#include <cmath>

namespace zerograph {
namespace {

double warmupSteps(const plan::Schedule &schedule) {
  return std::max(2.0, double(schedule.warmup_steps()));
}

/// Returns the factor at i = `call`, below `warmupSteps`.
double warmingGamma(const plan::Schedule &schedule, double call) {
  if (schedule.warmup_type() == "linear") {
    return call / warmupSteps(schedule);
  }
  return 1.0 / std::log(warmupSteps(schedule)) * std::log(call + 1);
}

double between(const plan::Schedule &schedule, double lr, double gamma) {
  double low = schedule.warmup_min_lr();
  return low + (lr - low) * gamma;
}

double warmupRate(const plan::Schedule &schedule, double lr, uint64_t update) {
  if (update < 2) {
    return schedule.warmup_min_lr();
  }
  double call = double(update - 2);
  return between(schedule, lr,
                 call < warmupSteps(schedule) ? warmingGamma(schedule, call)
                                              : 1.0);
}

double warmupDecayRate(const plan::Schedule &schedule, double lr,
                       uint64_t update) {
  if (update < 2) {
    return schedule.warmup_min_lr();
  }
  double call = double(update - 2), steps = warmupSteps(schedule);
  if (call < steps) {
    return between(schedule, lr, warmingGamma(schedule, call));
  }
  double total = double(schedule.total_steps());
  return between(schedule, lr,
                 std::max(0.0, (total - call) / std::max(1.0, total - steps)));
}

double warmupCosineRate(const plan::Schedule &schedule, double lr,
                        uint64_t update) {
  if (update < 2) {
    return 0;
  }
  double call = double(update - 2), steps = warmupSteps(schedule);
  if (call < steps) {
    double low = schedule.warmup_min_ratio();
    return lr * (low + warmingGamma(schedule, call) * (1.0 - low));
  }
  double length = std::max(1.0, double(schedule.total_steps()) - steps);
  double progress = std::min(1.0, (call - steps + 1) / length);
  double low = schedule.cosine_min_ratio();
  double ratio = (1 + std::cos(M_PI * progress)) / 2;
  return lr * std::max(0.0, low + (1.0 - low) * ratio);
}

std::string checkWarmup(const plan::Schedule &schedule) {
  if (schedule.warmup_type() != "log" && schedule.warmup_type() != "linear") {
    return "warmup_type is \"" + schedule.warmup_type() +
           "\"; expected log or linear";
  }
  return requireThat(schedule.warmup_steps() > 0, "warmup_steps",
                     double(schedule.warmup_steps()), "at least 1");
}

std::string checkTotal(const plan::Schedule &schedule) {
  std::string wrong = checkWarmup(schedule);
  return !wrong.empty()
             ? wrong
             : requireThat(schedule.total_steps() > 0, "total_steps",
                           double(schedule.total_steps()), "at least 1");
}

std::string checkCosine(const plan::Schedule &schedule) {
  std::string wrong = checkTotal(schedule);
  for (auto [field, ratio] :
       {std::pair("warmup_min_ratio", schedule.warmup_min_ratio()),
        std::pair("cosine_min_ratio", schedule.cosine_min_ratio())}) {
    if (wrong.empty()) {
      wrong = requireThat(ratio <= 1, field, ratio, "at most 1");
    }
  }
  return wrong;
}

} // namespace

std::vector<ScheduleKind> warmupSchedules() {
  return {
      {"warmup",
       {"warmup_steps", "warmup_type", "warmup_min_lr"},
       checkWarmup,
       warmupRate},
      {"warmup-decay",
       {"warmup_steps", "warmup_type", "warmup_min_lr", "total_steps"},
       checkTotal,
       warmupDecayRate},
      {"warmup-cosine",
       {"warmup_steps", "warmup_type", "warmup_min_ratio", "total_steps",
        "cosine_min_ratio"},
       checkCosine,
       warmupCosineRate},
  };
}

} // namespace zerograph
