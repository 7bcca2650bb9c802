//===- Schedule.cpp - options as a plan's schedule, and loss scale --------===//

#include "tools/compiler/Schedule.h"

#include "runtime/plan/schedules/Schedule.h"

#include <cmath>

namespace zerograph {
namespace {

/// Calls `set` with an option's value, if it has one.
template <typename T, typename Set>
void setValue(const T &value, const Set &set) {
  if constexpr (requires { value.has_value(); }) {
    if (value) {
      set(*value);
    }
  } else {
    set(value);
  }
}

/// Sets the fields that the kind uses.
template <typename Schedule>
void setFields(const options::Compile &options, const ScheduleKind &kind,
               Schedule &schedule) {
  using enum options::Taker;
#define ZG_COMPILE_OPTION(type, field, value, name, placeholder, check,        \
                          commands, takers, ...)                               \
  static_assert((((takers)&kSchedule) != 0) == requires { schedule.field(); }, \
                "--" name ": the column takers says otherwise");               \
  if constexpr (requires { schedule.field(); }) {                              \
    if (kind.uses(#field)) {                                                   \
      setValue(options.field, [&](auto to) { schedule.set_##field(to); });     \
    }                                                                          \
  }
#include "options/Options.def"
}

} // namespace

plan::Schedule scheduleOf(const options::Compile &given) {
  options::Compile options = given;
  options.warmup_steps =
      options::warmupSteps(options.schedule, options.warmup_steps);
  options.cycle_down = options.cycle_down.value_or(options.cycle_up);
  options.cycle_down_stairs =
      options.cycle_down_stairs.value_or(options.cycle_up_stairs);
  plan::Schedule schedule;
  schedule.set_kind(options.schedule);
  if (const ScheduleKind *kind = findSchedule(options.schedule)) {
    setFields(options, *kind, schedule);
  }
  return schedule;
}

std::optional<plan::LossScale> lossScaleOf(const options::Compile &options) {
  if (options.precision != "fp16") {
    return std::nullopt;
  }
  plan::LossScale scale;
  scale.set_initial(options.loss_scale);
  if (options.loss_scale == 0) {
    scale.set_initial(std::ldexp(1.0, int(options.initial_scale_power)));
    scale.set_window(uint64_t(options.loss_scale_window));
    scale.set_hysteresis(uint32_t(options.loss_scale_hysteresis));
    scale.set_consecutive_hysteresis(options.consecutive_hysteresis);
    scale.set_minimum(options.min_loss_scale);
  }
  return scale;
}

} // namespace zerograph
