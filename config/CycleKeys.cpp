//===- CycleKeys.cpp - keys of OneCycle's betas ---------------------------===//

#include "config/Converters.h"

#include "config/FileWriter.h"
#include "config/Translation.h"
#include "options/Options.h"

#include "absl/strings/numbers.h"

namespace zerograph::config {
namespace {

/// Returns whether the command line says that no beta is cycled.
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

bool cyclesBetas(const Translation &to) {
  const Value *asked = to.value("scheduler.params.cycle_momentum");
  const options::Optimizer *kind = options::findOptimizer(optimizerOf(to));
  return isSchedule(to, "OneCycle") && !cyclesNothing(to) && kind != nullptr &&
         kind->cycles() && (asked == nullptr || *asked->boolean());
}

namespace {

/// Returns whether the betas are cycled as DeepSpeed does, whose second is
/// 0.99.
bool cyclesAsThere(const FileWriter &file) {
  double most = 0;
  options::Compile run;
  run.betas = file.value("betas");
  const options::Optimizer *kind =
      options::findOptimizer(file.value("optimizer"));
  auto values = kind ? options::hyperparametersOf(*kind, run) : std::nullopt;
  return file.value("schedule") == "one-cycle" && values &&
         values->beta2 == 0.99 &&
         absl::SimpleAtod(file.value("cycle-max-momentum"), &most) && most > 0;
}

void readCycleMomentum(const ConfigEntry &found, Translation &to) {
  std::string kind = optimizerOf(to);
  if (!isSchedule(to, "OneCycle") || found.value.boolean() == false) {
    return;
  }
  if (!options::takes(kind, &options::Hyperparameters::beta1)) {
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

void writeCycleMomentum(const Key &key, FileWriter &file) {
  if (file.value("schedule") == "one-cycle") {
    file.putWhether(key, cyclesAsThere(file));
  }
}

void readCycleBound(const ConfigEntry &found, Translation &to) {
  if (cyclesBetas(to)) {
    to.set(found, found.key->option, numberText(*found.value.number()));
  } else {
    to.noEffect("no beta is cycled");
  }
}

void writeCycleBound(const Key &key, FileWriter &file) {
  if (cyclesAsThere(file)) {
    file.put(key, file.value(key.option));
  }
}

void readDecayMomentum(const ConfigEntry &found, Translation &to) {
  bool decays = number(to, "scheduler.params.decay_step_size", 0) != 0;
  if (cyclesBetas(to) && decays && asks(found.value, *found.key)) {
    to.refuse(found, found.key->text);
  } else {
    to.noEffect("off");
  }
}

} // namespace

const Converter cycleMomentum = {.read = readCycleMomentum,
                                 .write = writeCycleMomentum};
const Converter cycleBound = {.read = readCycleBound, .write = writeCycleBound};
const Converter decayMomentum = {.read = readDecayMomentum};

} // namespace zerograph::config
