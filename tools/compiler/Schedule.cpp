//===- Schedule.cpp - options as a plan's schedule ------------------------===//

#include "tools/compiler/Schedule.h"

#include "runtime/plan/schedules/Schedule.h"

#include <string>

namespace zerograph {
namespace {

/// Sets fields by their names.
class Fields {
public:
  explicit Fields(plan::Schedule &schedule)
      : schedule(schedule), kind(findSchedule(schedule.kind())) {}

  /// Sets a field, unless schedules of this kind have none of that name.
  template <typename T>
  void set(const char *name, const T &value) {
    const auto *field = schedule.GetDescriptor()->FindFieldByName(name);
    if (!kind || !field || !kind->uses(name)) {
      return;
    }
    if constexpr (requires { value.has_value(); }) {
      if (value) {
        set(name, *value);
      }
    } else if constexpr (std::is_same_v<T, int64_t>) {
      schedule.GetReflection()->SetUInt64(&schedule, field, uint64_t(value));
    } else if constexpr (std::is_same_v<T, double>) {
      schedule.GetReflection()->SetDouble(&schedule, field, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      schedule.GetReflection()->SetString(&schedule, field, value);
    }
  }

private:
  plan::Schedule &schedule;
  const ScheduleKind *kind;
};

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
  Fields fields(schedule);
#define ZG_COMPILE_OPTION(type, field, ...) fields.set(#field, options.field);
#include "options/Options.def"
  return schedule;
}

} // namespace zerograph
