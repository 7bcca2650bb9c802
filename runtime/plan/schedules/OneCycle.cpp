//===- OneCycle.cpp - DeepSpeed's OneCycle --------------------------------===//
//
// From cycle_min_lr up to the group's rate in cycle_up updates, down again in
// cycle_down, and then by cycle_decay_rate every cycle_decay_steps, if these
// are not 0. With stairs, a half moves in that many steps. As DeepSpeed's does,
// update u looks at its place u - 1 in the cycle:
//
//   up:    low + (lr - low) * place / up
//   decay: low / (1 + decay_rate * (u - 1 - (up + down)) / decay_steps)
//
// Beta1, where it is cycled, is at its least when the rate is at its peak. It
// begins there too: DeepSpeed sets it to the least when it is made. PyTorch's
// OneCycleLR is another schedule.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/schedules/Schedule.h"

#include <cmath>

namespace zerograph {
namespace {

/// From 0 to 1 and back, at an update of the cycle. The operations are
/// DeepSpeed's, which first makes a fraction of the cycle of the place.
double heightOf(const plan::Schedule &schedule, double place) {
  double up = double(schedule.cycle_up());
  double down = double(schedule.cycle_down());
  double all = up + down, ratio = up / all;
  double x = 1.0 + place / all - std::floor(1 + place / all);
  bool first = x <= ratio;
  uint64_t stairs =
      first ? schedule.cycle_up_stairs() : schedule.cycle_down_stairs();
  if (stairs == 0) {
    return first ? x / ratio : (x - 1) / (ratio - 1);
  }
  double within = std::fmod(place, all), count = double(stairs);
  double stair =
      within <= up ? within * count / up : (all - within) * count / down;
  return std::floor(stair) / count;
}

double cycleRate(const plan::Schedule &schedule, double lr, uint64_t update) {
  double low = schedule.cycle_min_lr();
  double all = double(schedule.cycle_up()) + double(schedule.cycle_down());
  double place = updatesBefore(update);
  // Its call i = u - 2 is in the cycle where i < all.
  if (place - 1 < all) {
    return low + (lr - low) * heightOf(schedule, place);
  }
  if (schedule.cycle_decay_steps() == 0 || schedule.cycle_decay_rate() == 0) {
    return low;
  }
  double interval = (place - all) / double(schedule.cycle_decay_steps());
  return low / (1 + schedule.cycle_decay_rate() * interval);
}

std::string checkCycle(const plan::Schedule &schedule) {
  std::string wrong = requireThat(schedule.cycle_up() > 0, "cycle_up",
                                  double(schedule.cycle_up()), "at least 1");
  double low = schedule.cycle_min_momentum();
  double high = schedule.cycle_max_momentum();
  if (wrong.empty()) {
    wrong = requireThat(high < 1, "cycle_max_momentum", high, "less than 1");
  }
  if (wrong.empty()) {
    wrong = requireThat(low <= high, "cycle_min_momentum", low,
                        "at most cycle_max_momentum");
  }
  return wrong;
}

} // namespace

double cycledBeta1(const plan::Schedule &schedule, uint64_t update) {
  double low = schedule.cycle_min_momentum();
  double high = schedule.cycle_max_momentum();
  double all = double(schedule.cycle_up()) + double(schedule.cycle_down());
  double place = updatesBefore(update);
  if (update < 2) {
    return low;
  }
  return place - 1 < all ? high - (high - low) * heightOf(schedule, place)
                         : high;
}

std::vector<ScheduleKind> cycleSchedules() {
  return {{"one-cycle",
           {"cycle_min_lr", "cycle_up", "cycle_down", "cycle_up_stairs",
            "cycle_down_stairs", "cycle_decay_steps", "cycle_decay_rate",
            "cycle_min_momentum", "cycle_max_momentum"},
           checkCycle,
           cycleRate}};
}

} // namespace zerograph
