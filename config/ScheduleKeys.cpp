//===- ScheduleKeys.cpp - the keys of a schedule --------------------------===//

#include "config/Converters.h"
#include "config/FileWriter.h"
#include "config/Translation.h"

#include "absl/strings/match.h"

#include <utility>

namespace zerograph::config {
namespace {

/// The names of schedules here, and there.
constexpr std::pair<const char *, const char *> kSchedules[] = {
    {"warmup", "WarmupLR"},
    {"warmup-decay", "WarmupDecayLR"},
    {"warmup-cosine", "WarmupCosineLR"},
    {"one-cycle", "OneCycle"}};

/// PyTorch's, which DeepSpeed takes as well: the options that do the same,
/// which of PyTorch's numbers each is, and when.
constexpr struct {
  const char *name, *when, *options;
} kOfPyTorch[] = {
    {"StepLR", "",
     "--schedule step with --step-size (`step_size`) and --step-gamma "
     "(`gamma`)"},
    {"ExponentialLR", "",
     "--schedule step with --step-size 1 and --step-gamma (`gamma`)"},
    {"CosineAnnealingLR", "",
     "--schedule cosine with --total-steps (`T_max`, behind which the rate "
     "stays) and --min-lr (`eta_min`)"},
    {"LinearLR", "where its `start_factor` is 1, ",
     "--schedule linear with --total-steps (`total_iters`) and --min-lr (the "
     "rate times `end_factor`)"},
    {"PolynomialLR", "where its `power` is 1, ",
     "--schedule linear with --total-steps (`total_iters`)"},
    {"ConstantLR", "where its `factor` is 1, ", "--schedule constant"}};

/// Why a schedule of the file's is refused, and what does the same.
std::string notBuilt(absl::string_view type) {
  for (auto [name, when, options] : kOfPyTorch) {
    if (absl::EqualsIgnoreCase(type, name)) {
      return absl::StrCat("of PyTorch's schedules no key is built; leave "
                          "'scheduler' out, and ",
                          when, "give ", options);
    }
  }
  return "there are WarmupLR, WarmupDecayLR, WarmupCosineLR and OneCycle; "
         "others are not built yet";
}

/// Returns what the file's schedule is called here; empty: it has none that is
/// built.
std::string scheduleInFile(const Translation &to) {
  const Value *type = to.value("scheduler.type");
  for (auto [ours, theirs] : kSchedules) {
    if (type != nullptr && absl::EqualsIgnoreCase(type->text, theirs)) {
      return ours;
    }
  }
  return "";
}

/// That the command line has another schedule than the file; or empty.
std::string scheduleGivenInstead(const Translation &to) {
  std::optional<std::string> given = to.given("schedule");
  bool instead = given && to.value("scheduler.type") != nullptr &&
                 *given != scheduleInFile(to);
  return instead ? absl::StrCat("--schedule ", *given, " was given") : "";
}

/// The key that has the rate at the top of the schedule, if one has.
const char *peakKey(const Translation &to) {
  const char *key = isSchedule(to, "OneCycle")
                        ? "scheduler.params.cycle_max_lr"
                        : "scheduler.params.warmup_max_lr";
  bool has = to.value("scheduler.type") != nullptr &&
             scheduleGivenInstead(to).empty() && to.value(key) != nullptr;
  return has ? key : nullptr;
}

/// Returns whether WarmupDecayLR takes a peak of its own, as nobody says one.
bool hasDecaysPeak(const Translation &to) {
  return isSchedule(to, "WarmupDecayLR") &&
         to.isMissing("scheduler.params.warmup_max_lr");
}

} // namespace

std::string replacedSchedule(const Key &key, const Translation &to) {
  return absl::StartsWith(key.path, "scheduler.") ? scheduleGivenInstead(to)
                                                  : "";
}

bool isSchedule(const Translation &to, absl::string_view type) {
  const Value *found = to.value("scheduler.type");
  return found != nullptr && absl::EqualsIgnoreCase(found->text, type) &&
         scheduleGivenInstead(to).empty();
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

namespace {

void readScheduleType(const ConfigEntry &found, Translation &to) {
  std::string schedule = scheduleInFile(to);
  if (schedule.empty()) {
    to.refuse(found, notBuilt(found.value.text));
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
    cycleMomentum.read(found, to);
  }
}

void writeScheduleType(const Key &key, FileWriter &file) {
  for (auto [ours, theirs] : kSchedules) {
    if (file.value(key.option) == ours) {
      file.put(key, theirs);
    }
  }
}

/// Writes no numbers either of a schedule that DeepSpeed does not have.
void writeOfSchedule(const Key &key, FileWriter &file) {
  if (file.wrote("scheduler.type")) {
    file.putGiven(key);
  }
}

void readPeak(const ConfigEntry &found, Translation &to) {
  const char *key = peakKey(to);
  if (key != nullptr && found.key->path == key) {
    readSame(found, to);
  } else {
    to.noEffect("it is of another schedule");
  }
}

void peakOfAuto(const ConfigEntry &, Translation &to) {
  to.say("auto: the optimizer's rate");
}

void writePeak(const Key &key, FileWriter &file) {
  std::string schedule = file.value("schedule");
  bool cycle = schedule == "one-cycle";
  bool ours = key.path == "scheduler.params.cycle_max_lr";
  if (file.wrote("scheduler.type") && cycle == ours &&
      schedule != "warmup-cosine") {
    file.put(key, file.value("lr"));
  }
}

/// Writes where the schedule ends, which DeepSpeed must be told, and we know of
/// a run.
void writeTotal(const Key &key, FileWriter &file) {
  std::string kind = file.value("schedule");
  if (file.has(key.option)) {
    writeOfSchedule(key, file);
    return;
  }
  if (kind != "warmup-decay" && kind != "warmup-cosine") {
    return;
  }
  if (file.has("steps")) {
    file.put(key, file.value("steps"));
    return;
  }
  file.put(key, "auto");
  file.note("\"total_num_steps\" is \"auto\", which is the steps of the run "
            "here and in Transformers; DeepSpeed alone needs a number: give "
            "--total-steps");
}

} // namespace

const Converter scheduleType = {.read = readScheduleType,
                                .write = writeScheduleType};
const Converter ofSchedule = {.read = readSame, .write = writeOfSchedule};
const Converter peak = {
    .read = readPeak, .automatic = peakOfAuto, .write = writePeak};
const Converter total = {.read = readSame, .write = writeTotal};

} // namespace zerograph::config
