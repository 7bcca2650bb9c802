//===- PrecisionKeys.cpp - keys of the types that are computed in ---------===//

#include "config/Converters.h"

#include "config/FileWriter.h"
#include "config/Translation.h"

#include "absl/strings/numbers.h"

namespace zerograph::config {
namespace {

void readPrecision(const ConfigEntry &found, Translation &to) {
  if (!*found.value.boolean()) {
    std::optional<std::string> given = to.given("precision");
    to.noEffect(given ? absl::StrCat("--precision ", *given, " was given")
                      : "off");
    return;
  }
  const Value *other = to.value("fp16.enabled");
  if (found.key->path == "bf16.enabled" && other != nullptr &&
      other->boolean() == true) {
    to.refuse(found, "and so is 'fp16.enabled': keep one of them");
    return;
  }
  to.set(found, "precision", found.key->path.substr(0, 4));
}

void precisionOfAuto(const ConfigEntry &found, Translation &to) {
  if (std::optional<std::string> given = to.given("precision")) {
    to.set(found, "precision", *given, /*by_default=*/true);
    to.say("auto: as the command line says");
  } else {
    to.sayDefault(found);
  }
}

/// Another type leaves it to the file, whose keys it replaces.
std::optional<bool> precisionSwitched(const Key &key, const Translation &to) {
  return to.given(key.option) == parentOf(key.path) ? std::optional(true)
                                                    : std::nullopt;
}

/// fp32 is neither of both sections.
void writePrecision(const Key &key, FileWriter &file) {
  std::string type = file.value("precision");
  if (key.path == type + ".enabled") {
    file.putWhether(key, true);
  } else if (file.has("precision") && type == "fp32") {
    file.putWhether(key, false);
  }
}

void readDynamicScale(const ConfigEntry &found, Translation &to) {
  readUnless(fixedScale(to), found, to);
}

void overflowOfAuto(const ConfigEntry &, Translation &to) {
  to.say("auto: as where it is missing");
}

/// Missing would be true.
void writeOverflow(const Key &key, FileWriter &file) {
  if (file.value("precision") == "bf16") {
    file.putWhether(key, file.has(key.option));
  }
}

void readMasters(const ConfigEntry &found, Translation &to) {
  if (!*found.value.boolean()) {
    to.noEffect("off");
    return;
  }
  for (const char *path :
       {"bf16.bf16_master_weights_and_grads", "bf16.bf16_optimizer_states"}) {
    const Value *other = to.value(path);
    bool on = other != nullptr && other->boolean() == true;
    if (!on && !to.given(found.key->option)) {
      to.refuse(found, absl::StrCat("and '", path,
                                    "' is not: set both or none; bf16 masters "
                                    "with float32 states, or the other way "
                                    "round, are not built"));
      return;
    }
  }
  to.set(found, found.key->option, "bf16");
}

void writeMasters(const Key &key, FileWriter &file) {
  if (file.value(key.option) == "bf16") {
    file.putWhether(key, true);
  }
}

} // namespace

std::string replacedPrecision(const Key &key, const Translation &to) {
  absl::string_view section = parentOf(key.path);
  std::optional<std::string> given = to.given("precision");
  bool half = section == "bf16" || section == "fp16";
  return half && given && section != *given
             ? absl::StrCat("--precision ", *given, " was given")
             : "";
}

std::string fixedScale(const Translation &to) {
  const Value *scale = to.value("fp16.loss_scale");
  double number = scale != nullptr ? *scale->number() : 0;
  std::optional<std::string> given = to.given("loss-scale");
  if (given && absl::SimpleAtod(*given, &number)) {
    return number != 0 ? absl::StrCat("--loss-scale ", *given, " never changes")
                       : "";
  }
  return number != 0 ? "'fp16.loss_scale' never changes" : "";
}

const Converter precision = {.read = readPrecision,
                             .automatic = precisionOfAuto,
                             .write = writePrecision,
                             .switched = precisionSwitched};
const Converter dynamicScale = {.read = readDynamicScale};
const Converter overflow = {
    .read = readSame, .automatic = overflowOfAuto, .write = writeOverflow};
const Converter masters = {.read = readMasters, .write = writeMasters};

} // namespace zerograph::config
