//===- OptimizerKeys.cpp - the keys of the optimizer ----------------------===//

#include "config/Converters.h"
#include "config/FileWriter.h"
#include "config/Translation.h"
#include "config/Write.h"
#include "options/Options.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace zerograph::config {
namespace {

/// A flag of the optimizer's parameters.
bool flag(const Translation &to, const char *name, bool fallback) {
  const Value *value = to.value(absl::StrCat("optimizer.params.", name));
  return value != nullptr ? *value->boolean() : fallback;
}

/// Returns the file's type, in small letters; "" where it has none.
std::string typeInFile(const Translation &to) {
  const Value *type = to.value("optimizer.type");
  std::string name = type != nullptr ? absl::AsciiStrToLower(type->text) : "";
  return name == "adam" && flag(to, "adam_w_mode", true) ? "adamw" : name;
}

/// Returns whether an optimizer of ours takes a parameter of the file's.
bool takes(const std::string &kind, absl::string_view parameter) {
  for (const options::Hyperparameter &one : options::kHyperparameters) {
    if (std::string(one.key) == parameter && options::takes(kind, one.number)) {
      return true;
    }
  }
  return false;
}

} // namespace

std::string optimizerOf(const Translation &to) {
  std::string type = typeInFile(to);
  std::optional<std::string> given = to.given("optimizer");
  return given ? *given : !type.empty() ? type : defaultOf("optimizer");
}

std::string replacedOptimizer(const Key &key, const Translation &to) {
  constexpr absl::string_view kParams = "optimizer.params.";
  std::string type = typeInFile(to), kind = optimizerOf(to);
  bool param = absl::StartsWith(key.path, kParams);
  bool replaced =
      !type.empty() && kind != type && (key.path == "optimizer.type" || param);
  return !replaced || (param && takes(kind, key.path.substr(kParams.size())))
             ? ""
             : absl::StrCat("--optimizer ", kind, " was given");
}

namespace {

constexpr char kCycled[] =
    "OneCycle changes both, unless \"cycle_momentum\" is false";

/// Sets the numbers of DeepSpeed's that the file leaves out, where they
/// surprise.
void addDefaults(const ConfigEntry &found, const options::Optimizer &optimizer,
                 Translation &to) {
  for (const options::Hyperparameter &one : options::kHyperparameters) {
    std::string option(one.option), key(one.key);
    std::string value =
        options::valueText(optimizer, option, &options::TakenNumber::deepspeed);
    bool replaced = option == "lr" && !rateOfSchedule(to).empty();
    if (value.empty() || replaced || to.given(option) ||
        !to.isMissing(absl::StrCat("optimizer.params.", key)) ||
        one.number == &options::Hyperparameters::beta2) { // with beta1
      continue;
    }
    to.set(found, option, value, /*by_default=*/true);
    to.say(absl::StrCat("'", key, "' is missing: ", value));
  }
}

void readOptimizerType(const ConfigEntry &found, Translation &to) {
  std::string type = typeInFile(to);
  for (const char *compressed : {"onebitadam", "zerooneadam", "onebitlamb"}) {
    if (type == compressed) {
      to.refuse(found, "not built yet: gradients are not compressed");
      return;
    }
  }
  if (type == "adamw" && absl::EqualsIgnoreCase(found.value.text, "adam")) {
    to.note("'optimizer.type' Adam means AdamW, as in DeepSpeed; "
            "\"adam_w_mode\": false is Adam");
  }
  to.set(found, "optimizer", type);
  const options::Optimizer *optimizer = options::findOptimizer(type);
  bool as_torch = type == "adamw" && flag(to, "torch_adam", false);
  if (optimizer != nullptr && !as_torch) {
    addDefaults(found, *optimizer, to);
  }
}

void writeOptimizerType(const Key &key, FileWriter &file) {
  std::string kind = file.value("optimizer");
  const options::Optimizer &optimizer = *options::findOptimizer(kind);
  file.put(key, std::string(optimizer.deepspeed));
  auto param = [&](const std::string &name, const std::string &text) {
    file.put(
        *findKey(Dialect::DeepSpeed, absl::StrCat("optimizer.params.", name)),
        text);
  };
  param("lr", file.value("lr"));
  for (const options::Hyperparameter &one : options::kHyperparameters) {
    std::string option(one.option);
    std::string ours = options::valueText(optimizer, option);
    std::string theirs =
        options::valueText(optimizer, option, &options::TakenNumber::deepspeed);
    if (!ours.empty() && !theirs.empty() && ours != theirs &&
        !file.has(option)) {
      param(std::string(one.key), ours);
    }
  }
  if (kind == "adam") {
    param("adam_w_mode", "false");
  }
}

void readRate(const ConfigEntry &found, Translation &to) {
  readUnless(rateOfSchedule(to), found, to);
}

void rateOfAuto(const ConfigEntry &found, Translation &to) {
  std::string schedule = rateOfSchedule(to);
  if (schedule.empty()) {
    to.sayDefault(found);
  } else {
    to.noEffect(schedule);
  }
}

void readBetas(const ConfigEntry &found, Translation &to) {
  const std::vector<Value> &two = found.value.children;
  if (cyclesBetas(to)) {
    to.noEffect(kCycled);
  } else if (two.size() != 2 || !two[0].number() || !two[1].number()) {
    to.refuse(found, "expected a list of two numbers");
  } else {
    to.set(found, found.key->option,
           absl::StrCat(numberText(*two[0].number()), ",",
                        numberText(*two[1].number())),
           !asks(found.value, *found.key));
  }
}

void betasOfAuto(const ConfigEntry &found, Translation &to) {
  if (cyclesBetas(to)) {
    to.noEffect(kCycled);
  } else {
    to.sayDefault(found);
  }
}

void decayOfAuto(const ConfigEntry &found, Translation &to) {
  const options::Optimizer *kind = options::findOptimizer(optimizerOf(to));
  to.sayDefault(found, kind ? options::valueText(*kind, "weight-decay") : "0");
}

} // namespace

const Converter optimizerType = {.read = readOptimizerType,
                                 .write = writeOptimizerType};
const Converter rate = {.read = readRate, .automatic = rateOfAuto};
const Converter betas = {.read = readBetas, .automatic = betasOfAuto};
const Converter weightDecay = {.read = readSame, .automatic = decayOfAuto};

} // namespace zerograph::config
