//===- OptimizerFlags.cpp - the options of the optimizer and its schedule -===//

#include "tools/cli/OptimizerFlags.h"

#include "options/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/plan/schedules/Schedule.h"
#include "tools/cli/Notes.h"
#include "tools/compiler/Schedule.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

#include <vector>

namespace zerograph {
namespace {

using options::Hyperparameters;
using options::Optimizer;

/// Returns what is wrong with the text of a group; empty: nothing. `values` are
/// those that it changes.
std::string wrongIn(const std::string &text, const Optimizer &optimizer,
                    Hyperparameters values) {
  options::Group group = options::parseGroup(text);
  if (!group.error.empty()) {
    return group.error;
  }
  if (absl::StrContains(text, ';')) {
    return "a pattern has no semicolon; give --group again";
  }
  for (const auto &[number, value] : group.numbers) {
    if (!optimizer.takes(number->number)) {
      return absl::StrCat(std::string(optimizer.name), " has no ",
                          std::string(number->name));
    }
    values.*number->number = value;
  }
  return options::faultsText(optimizer, values);
}

absl::Status checkGroups(const options::Compile &options,
                         const Optimizer &optimizer,
                         const Hyperparameters &values) {
  for (const std::string &text : options.group) {
    std::string error = wrongIn(text, optimizer, values);
    if (!error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--group ", text, ": ", error));
    }
  }
  if (options.no_decay && values.weight_decay == 0) {
    warn(absl::StrCat("--no-decay has no effect: --optimizer ",
                      options.optimizer, " has no --weight-decay"));
  }
  return absl::OkStatus();
}

/// Refuses options that the optimizer does not take.
absl::Status
checkTaken(const options::Compile &options, const Optimizer &optimizer,
           absl::FunctionRef<bool(const std::string &option)> isGiven) {
  for (const options::Hyperparameter &one : options::kHyperparameters) {
    std::string option = "--" + std::string(one.option);
    if (isGiven(option) && !optimizer.takes(one.number)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is for --optimizer ",
                       options::optimizersWhere([&](const Optimizer &other) {
                         return other.takes(one.number);
                       }),
                       "; ", options.optimizer, " does not use it"));
    }
  }
  return absl::OkStatus();
}

/// Returns what the command line has: "--betas 0.9,1", "--nesterov".
std::string given(const options::Hyperparameter &number,
                  const options::Compile &options,
                  const Hyperparameters &values) {
  return absl::StrCat("--", std::string(number.option),
                      number.number == &Hyperparameters::nesterov ? ""
                      : number.option == "betas"
                          ? absl::StrCat(" ", options.betas)
                          : absl::StrCat(" ", values.*number.number));
}

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

absl::Status checkOptimizerOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven) {
  const Optimizer &optimizer = *options::findOptimizer(options.optimizer);
  ZG_RETURN_IF_ERROR(checkTaken(options, optimizer, isGiven));
  auto values = options::hyperparametersOf(optimizer, options);
  if (!values) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--betas ", options.betas, ": expected two numbers, as 0.9,0.999"));
  }
  // "--lr -1" says "lr is -1, " already.
  auto refuse = [](const std::string &given, absl::string_view name,
                   double value, absl::string_view fault) {
    absl::ConsumePrefix(
        &fault, absl::StrCat(name, " is ", options::numberText(value), ", "));
    return absl::InvalidArgumentError(absl::StrCat(given, ": ", fault));
  };
  if (auto faults = options::faultsOf(optimizer, *values); !faults.empty()) {
    const options::Hyperparameter &number = *faults[0].number;
    return refuse(given(number, options, *values),
                  number.option == "betas" ? "" : std::string(number.name),
                  (*values).*number.number, faults[0].text);
  }
  std::string fault =
      options::faultOf("clip_value", options.clip_value, options::kNotNegative);
  if (!fault.empty()) {
    return refuse(absl::StrCat("--clip-value ", options.clip_value),
                  "clip_value", options.clip_value, fault);
  }
  return checkGroups(options, optimizer, *values);
}

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
