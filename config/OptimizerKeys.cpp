//===- OptimizerKeys.cpp - the keys of the optimizer ----------------------===//

#include "config/Converters.h"
#include "config/FileWriter.h"
#include "config/Translation.h"
#include "config/Write.h"
#include "options/Groups.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <cmath>

namespace zerograph::config {
namespace {

/// A flag of the optimizer's parameters.
bool flag(const Translation &to, const char *name, bool fallback) {
  const Value *value = to.value(absl::StrCat("optimizer.params.", name));
  return value != nullptr ? *value->boolean() : fallback;
}

/// Sets what DeepSpeed does where a parameter is missing, and we do not.
void setWhereMissing(const ConfigEntry &found, Translation &to,
                     const char *parameter, const char *option,
                     const char *value) {
  std::string path = absl::StrCat("optimizer.params.", parameter);
  if (to.isMissing(path) && !to.given(option)) {
    to.set(found, option, value, /*by_default=*/true);
    to.say(absl::StrCat("'", parameter, "' is missing: ", value));
  }
}

/// Returns the file's type, in small letters; "" where it has none.
std::string typeInFile(const Translation &to) {
  const Value *type = to.value("optimizer.type");
  std::string name = type != nullptr ? absl::AsciiStrToLower(type->text) : "";
  return name == "adam" && flag(to, "adam_w_mode", true) ? "adamw" : name;
}

/// Returns whether an optimizer of ours reads a parameter of the file's.
bool takes(const std::string &kind, absl::string_view parameter) {
  if (parameter == "betas") {
    return options::uses(kind, "beta1");
  }
  if (parameter == "nesterov") {
    return options::uses(kind, "momentum");
  }
  bool number = parameter == "lr" || parameter == "weight_decay" ||
                parameter == "eps" || parameter == "momentum";
  return number && options::uses(kind, std::string(parameter));
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
  if (type == "adamw" && !flag(to, "torch_adam", false)) {
    setWhereMissing(found, to, "weight_decay", "weight-decay", "0");
  } else if (type == "adagrad") {
    if (rateOfSchedule(to).empty()) {
      setWhereMissing(found, to, "lr", "lr", "0.01");
    }
    setWhereMissing(found, to, "eps", "eps", "1e-10");
  } else if (type == "lion") {
    setWhereMissing(found, to, "betas", "betas", "0.9,0.99");
    setWhereMissing(found, to, "weight_decay", "weight-decay", "0");
  }
}

void writeOptimizerType(const Key &key, FileWriter &file) {
  std::string kind = file.value("optimizer");
  file.put(key, std::string(options::optimizerOf(kind).deepspeed));
  auto param = [&](const char *name, const std::string &text) {
    file.put(
        *findKey(Dialect::DeepSpeed, absl::StrCat("optimizer.params.", name)),
        text);
  };
  param("lr", file.value("lr"));
  if (kind == "adamw" && !file.has("weight-decay")) {
    param("weight_decay", numberText(options::weightDecay(kind, NAN)));
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
  to.sayDefault(found, numberText(options::weightDecay(optimizerOf(to), NAN)));
}

} // namespace

const Converter optimizerType = {.read = readOptimizerType,
                                 .write = writeOptimizerType};
const Converter rate = {.read = readRate, .automatic = rateOfAuto};
const Converter betas = {.read = readBetas, .automatic = betasOfAuto};
const Converter weightDecay = {.read = readSame, .automatic = decayOfAuto};

} // namespace zerograph::config
