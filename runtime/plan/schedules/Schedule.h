//===- Schedule.h - the learning rate of every update ---------------------===//
//
// A schedule is a pure function of the update's number. A file a family; the
// table of all kinds is in Schedule.cpp. All arithmetic is in double, in the
// order of the program whose schedule it is, so that the numbers are its own.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_SCHEDULES_SCHEDULE_H
#define ZEROGRAPH_RUNTIME_PLAN_SCHEDULES_SCHEDULE_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace zerograph {

struct ScheduleKind {
  absl::string_view name;
  /// The fields of plan::Schedule that it uses.
  std::vector<absl::string_view> fields;
  /// Returns what is wrong with these; empty: nothing.
  std::string (*check)(const plan::Schedule &schedule);
  /// The rate of update `update`, counted from 1, of parameters whose own
  /// learning rate is `lr`. The schedule has been checked.
  double (*rate)(const plan::Schedule &schedule, double lr, uint64_t update);

  bool uses(absl::string_view field) const;
};

const std::vector<ScheduleKind> &scheduleKinds();
/// Null where there is none of this name.
const ScheduleKind *findSchedule(absl::string_view name);
/// All their names, for messages.
std::string scheduleNames();

/// An error that says which number is wrong, and what it must be.
absl::Status checkSchedule(const plan::Schedule &schedule);

/// `lr` itself in a plan without a schedule.
double scheduledRate(const plan::Plan &plan, double lr, uint64_t update);

/// The first beta of an update: the group's own, `beta1`, unless the schedule
/// cycles it.
double scheduledBeta1(const plan::Plan &plan, double beta1, uint64_t update);

/// The number of a finished update before this one, as the optimizer's own
/// programs count: 0 at the first.
inline double updatesBefore(uint64_t update) { return double(update - 1); }

/// Empty, or that `field` is `value` and `expected`.
std::string requireThat(bool holds, absl::string_view field, double value,
                        absl::string_view expected);

// The families.
std::vector<ScheduleKind> decaySchedules();
std::vector<ScheduleKind> warmupSchedules();
std::vector<ScheduleKind> cycleSchedules();
double cycledBeta1(const plan::Schedule &schedule, uint64_t update);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_SCHEDULES_SCHEDULE_H
