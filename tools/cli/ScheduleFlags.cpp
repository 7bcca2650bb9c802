//===- ScheduleFlags.cpp - the options of a schedule ----------------------===//

#include "tools/cli/ScheduleFlags.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "runtime/base/Status.h"
#include "runtime/plan/schedules/Schedule.h"
#include "tools/cli/Notes.h"
#include "tools/compiler/Schedule.h"

#include <vector>

namespace zerograph {
namespace {

/// Checks the length of the warm-up, by which DeepSpeed's schedules divide.
absl::Status checkWarmup(const options::Compile &options,
                         const ScheduleKind &kind) {
  if (!kind.uses("warmup_type") || options.warmup_steps.value_or(1) > 0) {
    return absl::OkStatus();
  }
  const char *without = kind.uses("cosine_min_ratio") ? "cosine"
                        : kind.uses("total_steps")    ? "linear"
                                                      : "constant";
  return absl::InvalidArgumentError(
      absl::StrCat("--warmup-steps 0 with --schedule ", kind.name,
                   ": expected at least 1, as in DeepSpeed; --schedule ",
                   without, " has no warm-up"));
}

/// Returns "warmup and warmup-decay".
std::string usersOf(const std::string &field) {
  std::vector<absl::string_view> users;
  for (const ScheduleKind &kind : scheduleKinds()) {
    if (kind.uses(field)) {
      users.push_back(kind.name);
    }
  }
  absl::string_view last = users.back();
  users.pop_back();
  return users.empty()
             ? std::string(last)
             : absl::StrCat(absl::StrJoin(users, ", "), " and ", last);
}

/// Says where a schedule's lower end is above its peak.
void sayUpsideDown(const options::Compile &options, const ScheduleKind &kind) {
  const struct {
    const char *field, *option;
    double low;
  } kRows[] = {
      {"min_lr", "--min-lr", options.min_lr},
      {"warmup_min_lr", "--warmup-min-lr", options.warmup_min_lr},
      {"cycle_min_lr", "--cycle-min-lr", options.cycle_min_lr.value_or(0)},
  };
  for (const auto &row : kRows) {
    if (kind.uses(row.field) && row.low > options.lr) {
      warn(absl::StrFormat(
          "%s %g is above --lr %g, the peak of --schedule %s: the rate rises "
          "where it is to fall, and falls where it is to rise",
          row.option, row.low, options.lr, kind.name));
    }
  }
}

} // namespace

absl::Status checkScheduleOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven) {
  const ScheduleKind &kind = *findSchedule(options.schedule);
  const google::protobuf::Descriptor &fields = *plan::Schedule::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    std::string field = fields.field(i)->name();
    std::string option = "--" + absl::StrReplaceAll(field, {{"_", "-"}});
    if (field != "kind" && isGiven(option) && !kind.uses(field)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is for --schedule ", usersOf(field), "; ",
                       kind.name, " does not use it"));
    }
  }
  auto missing = [&](const char *field, bool has) {
    return kind.uses(field) && !has;
  };
  const char *needed =
      missing("total_steps", options.total_steps.has_value()) ? "--total-steps"
      : missing("step_size", options.step_size.has_value())   ? "--step-size"
      : missing("cycle_min_lr", options.cycle_min_lr.has_value())
          ? "--cycle-min-lr"
          : nullptr;
  if (needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("--schedule ", kind.name, " needs ", needed));
  }
  if (options.cycle_max_momentum > 0 &&
      !options::findOptimizer(options.optimizer)->cycles()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--cycle-max-momentum is for --optimizer ",
        options::optimizersWhere([](const auto &one) { return one.cycles(); }),
        "; ", options.optimizer, " does not use it"));
  }
  if (options.cycle_min_momentum > options.cycle_max_momentum) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--cycle-min-momentum ", options.cycle_min_momentum,
        " is above --cycle-max-momentum ", options.cycle_max_momentum));
  }
  ZG_RETURN_IF_ERROR(checkWarmup(options, kind));
  plan::Schedule schedule = scheduleOf(options);
  ZG_RETURN_IF_ERROR(checkSchedule(schedule));
  sayUpsideDown(options, kind);
  sayShortSchedule(schedule);
  return absl::OkStatus();
}

void sayShortSchedule(const plan::Schedule &schedule) {
  if (findSchedule(schedule.kind())->uses("total_steps") &&
      schedule.total_steps() < schedule.warmup_steps()) {
    warn(absl::StrCat("the schedule ends at step ", schedule.total_steps(),
                      ", before its warm-up, --warmup-steps ",
                      schedule.warmup_steps(), ", has reached --lr"));
  }
}

} // namespace zerograph
