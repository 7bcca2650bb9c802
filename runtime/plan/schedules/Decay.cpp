//===- Decay.cpp - constant, linear, cosine, step -------------------------===//
//
// The first three are those of Hugging Face's transformers, `constant`,
// `linear` and `cosine` with a warm-up, which may be 0 steps long, and with its
// way of ending above 0. `step` is PyTorch's StepLR, in its closed form.
//
// With t updates before this one, W = warmup_steps, T = total_steps:
//
//   warm-up, t < W:  lr * (t / max(1, W))
//   constant:        lr
//   linear:          lr * end(max(0, (T - t) / max(1, T - W)))
//   cosine:          lr * end((1 + cos(pi * (t - W) / max(1, T - W))) / 2)
//   step:            lr * step_gamma ^ floor(t / step_size)
//
// where end(f) = f * (1 - r) + r, r = min_lr / lr. Behind T the rate stays;
// transformers' cosine would rise again.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/schedules/Schedule.h"

#include <algorithm>
#include <cmath>

namespace zerograph {
namespace {

double warmedUp(const plan::Schedule &schedule, double before) {
  return before / std::max(1.0, double(schedule.warmup_steps()));
}

/// Turns a factor that goes from 1 to 0 into the one that ends at min_lr.
double endingAt(double min_lr, double lr, double factor) {
  if (min_lr == 0 || lr == 0) {
    return factor;
  }
  double ratio = min_lr / lr;
  return factor * (1 - ratio) + ratio;
}

/// Updates after the warm-up, and how many of them change the rate.
double decayLength(const plan::Schedule &schedule) {
  return std::max(1.0, double(schedule.total_steps()) -
                           double(schedule.warmup_steps()));
}

double constantRate(const plan::Schedule &schedule, double lr,
                    uint64_t update) {
  double before = updatesBefore(update);
  return before < double(schedule.warmup_steps())
             ? lr * warmedUp(schedule, before)
             : lr;
}

double linearRate(const plan::Schedule &schedule, double lr, uint64_t update) {
  double before = updatesBefore(update);
  if (before < double(schedule.warmup_steps())) {
    return lr * warmedUp(schedule, before);
  }
  double left = double(schedule.total_steps()) - before;
  double factor = std::max(0.0, left / decayLength(schedule));
  return lr * endingAt(schedule.min_lr(), lr, factor);
}

double cosineRate(const plan::Schedule &schedule, double lr, uint64_t update) {
  double before = updatesBefore(update);
  if (before < double(schedule.warmup_steps())) {
    return lr * warmedUp(schedule, before);
  }
  double progress = std::min(1.0, (before - double(schedule.warmup_steps())) /
                                      decayLength(schedule));
  double factor = 0.5 * (1.0 + std::cos(M_PI * progress));
  return lr * std::max(0.0, endingAt(schedule.min_lr(), lr, factor));
}

double stepRate(const plan::Schedule &schedule, double lr, uint64_t update) {
  uint64_t decays = (update - 1) / schedule.step_size();
  return lr * std::pow(schedule.step_gamma(), double(decays));
}

std::string anything(const plan::Schedule &) { return ""; }

std::string needsTotal(const plan::Schedule &schedule) {
  return requireThat(schedule.total_steps() > 0, "total_steps",
                     double(schedule.total_steps()), "at least 1");
}

std::string needsStepSize(const plan::Schedule &schedule) {
  return requireThat(schedule.step_size() > 0, "step_size",
                     double(schedule.step_size()), "at least 1");
}

} // namespace

std::vector<ScheduleKind> decaySchedules() {
  return {
      {"constant", {"warmup_steps"}, anything, constantRate},
      {"linear",
       {"warmup_steps", "total_steps", "min_lr"},
       needsTotal,
       linearRate},
      {"cosine",
       {"warmup_steps", "total_steps", "min_lr"},
       needsTotal,
       cosineRate},
      {"step", {"step_size", "step_gamma"}, needsStepSize, stepRate},
  };
}

} // namespace zerograph
