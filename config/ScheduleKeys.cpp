//===- ScheduleKeys.cpp - the keys of a schedule --------------------------===//

#include "config/Converters.h"
#include "config/Translation.h"
#include "options/Optimizers.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace zerograph::config {
namespace {

constexpr char kCycle[] = "OneCycle";

/// What the file's schedule is called here; empty: it has none that is built.
std::string scheduleInFile(const Translation &to) {
  const Value *type = to.value("scheduler.type");
  for (auto [ours, theirs] : kSchedules) {
    if (type != nullptr && absl::EqualsIgnoreCase(type->text, theirs)) {
      return ours;
    }
  }
  return "";
}

/// Whether the run has this schedule from the file.
bool isSchedule(const Translation &to, const char *type) {
  const Value *found = to.value("scheduler.type");
  return found != nullptr && absl::EqualsIgnoreCase(found->text, type) &&
         scheduleGivenInstead(to).empty();
}

/// The key that has the rate at the top of the schedule, if one has.
const char *peakKey(const Translation &to) {
  const char *key = isSchedule(to, kCycle) ? "scheduler.params.cycle_max_lr"
                                           : "scheduler.params.warmup_max_lr";
  bool has = to.value("scheduler.type") != nullptr &&
             scheduleGivenInstead(to).empty() && to.value(key) != nullptr;
  return has ? key : nullptr;
}

/// What WarmupDecayLR takes for the peak where nobody says it.
bool hasDecaysPeak(const Translation &to) {
  return isSchedule(to, "WarmupDecayLR") &&
         to.isMissing("scheduler.params.warmup_max_lr");
}

/// Whether the command line says that no beta is cycled.
bool cyclesNothing(const Translation &to) {
  double most = 1;
  std::optional<std::string> given = to.given("cycle-max-momentum");
  return given && absl::SimpleAtod(*given, &most) && most == 0;
}

double number(const Translation &to, const char *path, double fallback) {
  const Value *value = to.value(path);
  return value != nullptr ? *value->number() : fallback;
}

} // namespace

std::string scheduleGivenInstead(const Translation &to) {
  std::optional<std::string> given = to.given("schedule");
  bool instead = given && to.value("scheduler.type") != nullptr &&
                 *given != scheduleInFile(to);
  return instead ? absl::StrCat("--schedule ", *given, " was given") : "";
}

std::string rateOfSchedule(const Translation &to) {
  const char *key = peakKey(to);
  return key != nullptr
             ? absl::StrCat("the schedule's own rate comes before it: '", key,
                            "'")
         : hasDecaysPeak(to)
             ? "WarmupDecayLR without 'warmup_max_lr' rises to 0.001"
             : "";
}

bool cyclesBetas(const Translation &to) {
  const Value *asked = to.value("scheduler.params.cycle_momentum");
  std::string kind = optimizerOf(to);
  return isSchedule(to, kCycle) && !cyclesNothing(to) &&
         options::optimizerOf(kind).cycles &&
         (asked == nullptr || *asked->boolean());
}

void scheduleType(const Given &found, Translation &to) {
  std::string schedule = scheduleInFile(to);
  if (schedule.empty()) {
    to.refuse(found, "there are WarmupLR, WarmupDecayLR, WarmupCosineLR and "
                     "OneCycle; others are not built yet");
    return;
  }
  to.set(found, "schedule", schedule);
  if (hasDecaysPeak(to)) {
    to.set(found, "lr", "0.001", /*by_default=*/true);
  }
  if (hasDecaysPeak(to) && !to.given("lr")) {
    to.note("WarmupDecayLR without 'warmup_max_lr' rises to 0.001, whatever "
            "the optimizer's rate is");
  }
  if (schedule[0] == 'w' && to.isMissing("scheduler.params.warmup_type") &&
      !to.given("warmup-type")) {
    to.note("'warmup_type' is missing: the rate rises with the logarithm of "
            "the step; \"warmup_type\": \"linear\" is the other way");
  }
  if (to.value("scheduler.params.cycle_momentum") == nullptr) {
    cycleMomentum(found, to);
  }
}

void peak(const Given &found, Translation &to) {
  const char *key = peakKey(to);
  if (key != nullptr && found.key->path == key) {
    same(found, to);
  } else {
    to.noEffect("it is of another schedule");
  }
}

void cycleMomentum(const Given &found, Translation &to) {
  std::string kind = optimizerOf(to);
  if (!isSchedule(to, kCycle) || found.value.boolean() == false) {
    return;
  }
  if (!options::uses(kind, "beta1")) {
    to.say(absl::StrCat(kind, " has no betas: nothing but the rate is cycled, "
                              "in DeepSpeed as well"));
    return;
  }
  if (cyclesNothing(to)) {
    to.say("--cycle-max-momentum 0 was given");
    return;
  }
  if (!cyclesBetas(to)) {
    to.refuse(found, absl::StrCat("not built yet: OneCycle changes the first "
                                  "beta of ",
                                  kind,
                                  " as well, unless \"cycle_momentum\" is "
                                  "false"));
    return;
  }
  std::string low =
      numberText(number(to, "scheduler.params.cycle_min_mom", 0.8));
  std::optional<std::string> most = to.given("cycle-max-momentum");
  std::string high =
      most ? *most
           : numberText(number(to, "scheduler.params.cycle_max_mom", 0.9));
  to.set(found, "cycle-min-momentum", low);
  to.set(found, "cycle-max-momentum", high);
  to.set(found, "betas", absl::StrCat(high, ",0.99"));
  if (most || to.given("cycle-min-momentum") || to.given("betas")) {
    return; // what is said of these options says it
  }
  to.note(absl::StrCat("OneCycle changes the first beta as well, from ", high,
                       " to ", low,
                       " at the peak, and makes the second 0.99, "
                       "as in DeepSpeed; \"cycle_momentum\": false leaves "
                       "both"));
}

void cycleBound(const Given &found, Translation &to) {
  if (cyclesBetas(to)) {
    to.set(found, found.key->option, numberText(*found.value.number()));
  } else {
    to.noEffect("no beta is cycled");
  }
}

void decayMomentum(const Given &found, Translation &to) {
  bool decays = number(to, "scheduler.params.decay_step_size", 0) != 0;
  if (cyclesBetas(to) && decays && asks(found.value, *found.key)) {
    to.refuse(found, found.key->text);
  } else {
    to.noEffect("off");
  }
}

} // namespace zerograph::config
