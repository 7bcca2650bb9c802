//===- Schedule.cpp - the table of schedules ------------------------------===//

#include "runtime/plan/schedules/Schedule.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>

namespace zerograph {

bool ScheduleKind::uses(absl::string_view field) const {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

const std::vector<ScheduleKind> &scheduleKinds() {
  static const auto *kinds = [] {
    auto *all = new std::vector<ScheduleKind>();
    for (const auto &family :
         {decaySchedules(), warmupSchedules(), cycleSchedules()}) {
      all->insert(all->end(), family.begin(), family.end());
    }
    return all;
  }();
  return *kinds;
}

const ScheduleKind *findSchedule(absl::string_view name) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    if (kind.name == name) {
      return &kind;
    }
  }
  return nullptr;
}

std::string scheduleNames() {
  return absl::StrJoin(scheduleKinds(), ", ",
                       [](std::string *out, const ScheduleKind &kind) {
                         absl::StrAppend(out, kind.name);
                       });
}

std::string requireThat(bool holds, absl::string_view field, double value,
                        absl::string_view expected) {
  return holds ? ""
               : absl::StrCat(field, " is ", value, "; expected ", expected);
}

namespace {

/// Checks the fields of any kind: refuses numbers that could not be computed
/// with, and fields that it does not use.
std::string checkFields(const ScheduleKind &kind,
                        const plan::Schedule &schedule) {
  // Far below 2^53, so that each is a double.
  constexpr uint64_t kMostUpdates = uint64_t(1) << 40;
  const google::protobuf::Reflection &reflection = *schedule.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor *> set;
  reflection.ListFields(schedule, &set);
  for (const google::protobuf::FieldDescriptor *field : set) {
    if (field->name() == "kind") {
      continue;
    }
    if (!kind.uses(field->name())) {
      return absl::StrCat(field->name(), " is set; it has no such number");
    }
    if (field->cpp_type() == field->CPPTYPE_DOUBLE) {
      double value = reflection.GetDouble(schedule, field);
      if (!(value >= 0 && std::isfinite(value))) {
        return requireThat(false, field->name(), value,
                           "a finite number that is not negative");
      }
    } else if (field->cpp_type() == field->CPPTYPE_UINT64 &&
               reflection.GetUInt64(schedule, field) > kMostUpdates) {
      return requireThat(false, field->name(),
                         double(reflection.GetUInt64(schedule, field)),
                         "at most 2^40");
    }
  }
  return kind.check(schedule);
}

} // namespace

absl::Status checkSchedule(const plan::Schedule &schedule) {
  const ScheduleKind *kind = findSchedule(schedule.kind());
  if (!kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's schedule is \"", schedule.kind(),
                     "\"; there are ", scheduleNames()));
  }
  std::string wrong = checkFields(*kind, schedule);
  return wrong.empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "of the plan's schedule ", schedule.kind(), " ", wrong));
}

double scheduledRate(const plan::Plan &plan, double lr, uint64_t update) {
  if (!plan.has_schedule()) {
    return lr;
  }
  return findSchedule(plan.schedule().kind())
      ->rate(plan.schedule(), lr, update);
}

double scheduledBeta1(const plan::Plan &plan, double beta1, uint64_t update) {
  return plan.schedule().cycle_max_momentum() > 0
             ? cycledBeta1(plan.schedule(), update)
             : beta1;
}

} // namespace zerograph
