//===- OffloadKeys.cpp - the keys of what lies elsewhere ------------------===//

#include "config/Converters.h"
#include "config/Translation.h"
#include "options/Memory.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace zerograph::config {
namespace {

/// Returns where `device` offloads to; empty: nowhere. By its old name, true is
/// the CPU.
std::string placeOf(const Value *device) {
  std::string name = device ? absl::AsciiStrToLower(device->text) : "";
  return device && device->boolean() == true ? "cpu"
         : name == "cpu" || name == "nvme"   ? name
                                             : "";
}

/// Returns where `what`, "optimizer" or "param", goes; empty: nowhere.
std::string placeOf(const char *what, const Translation &to) {
  if (auto given = to.given(absl::StrCat("offload-", what))) {
    return *given == "none" ? "" : *given;
  }
  return placeOf(
      to.value(absl::StrCat("zero_optimization.offload_", what, ".device")));
}

bool isChosen(const Translation &to) { return to.given("offload") == "auto"; }

/// Returns whether `--offload auto` chooses, and not the key, of which this is
/// said.
bool isChosenInstead(const ConfigEntry &found, Translation &to) {
  if (!isChosen(to)) {
    return false;
  }
  to.noEffect("the command line's --offload auto wins");
  if (asks(found.value, *found.key)) {
    to.note(absl::StrCat("--offload auto of the command line wins over ",
                         found.named()));
  }
  return true;
}

void choiceOfAuto(const ConfigEntry &found, Translation &to) {
  if (!isChosenInstead(found, to)) {
    to.sayDefault(found);
  }
}

/// Sets where a key says that something is kept.
void offload(const ConfigEntry &found, const char *option, Translation &to) {
  std::optional<std::string> given = to.given(option);
  if (!asks(found.value, *found.key)) {
    to.noEffect(given ? absl::StrCat("--", option, " ", *given, " was given")
                      : "off");
  } else if (std::string place = placeOf(&found.value); !place.empty()) {
    to.set(found, option, place);
  } else {
    to.refuse(found, "expected none, cpu or nvme");
  }
}

std::optional<bool> offloadSwitched(const Key &key, const Translation &to) {
  std::optional<std::string> given = to.given(key.option);
  return given          ? std::optional(*given != "none")
         : isChosen(to) ? std::optional(true)
                        : std::nullopt;
}

/// Returns whether `what` may lie in files: it does so by `--offload auto` only
/// where the host has a limit.
bool mayUseFiles(const char *what, const Translation &to) {
  return isChosen(to)
             ? options::parseMemory(to.given("memory").value_or(""), 1).host > 0
             : placeOf(what, to) == "nvme";
}

/// Returns whether something may lie in files, of the section of a key or of
/// both.
bool usesFiles(const ConfigEntry &found, const Translation &to) {
  for (const char *what : {"optimizer", "param"}) {
    std::string section = absl::StrCat("zero_optimization.offload_", what);
    bool counts = !absl::StartsWith(found.key->path, "zero_optimization.") ||
                  absl::StartsWith(found.key->path, section);
    bool works = what != absl::string_view("param") || to.stage() == 3;
    if (counts && works && mayUseFiles(what, to)) {
      return true;
    }
  }
  return false;
}

void readOffloadOptimizer(const ConfigEntry &found, Translation &to) {
  if (!isChosenInstead(found, to)) {
    offload(found, "offload-optimizer", to);
  }
}

void readOffloadParam(const ConfigEntry &found, Translation &to) {
  if (isChosenInstead(found, to)) {
    return;
  }
  if (to.stage() != 3 && asks(found.value, *found.key)) {
    to.noEffect(absl::StrCat("with stage ", to.stage(),
                             ": DeepSpeed too offloads parameters with stage 3 "
                             "only, and does not say so"));
    return;
  }
  if (!placeOf("param", to).empty() && placeOf("optimizer", to).empty() &&
      !to.given("offload-param")) {
    to.refuse(found,
              "not built without `offload_optimizer` on the CPU or `nvme` too: "
              "who keeps parameters updates them");
  } else {
    offload(found, "offload-param", to);
  }
}

void readOffloadRatio(const ConfigEntry &found, Translation &to) {
  if (isChosenInstead(found, to)) {
    return;
  }
  if (!placeOf("optimizer", to).empty()) {
    to.set(found, "offload-ratio", found.value.text);
  } else {
    to.noEffect("nothing is offloaded");
  }
}

void readNvme(const ConfigEntry &found, Translation &to) {
  if (usesFiles(found, to)) {
    readSame(found, to);
  } else {
    to.noEffect("nothing of it is offloaded to `nvme`");
  }
}

void readNvmePath(const ConfigEntry &found, Translation &to) {
  absl::string_view folder = found.value.text;
  while (folder.size() > 1 && absl::ConsumeSuffix(&folder, "/")) {
  }
  if (!usesFiles(found, to)) {
    to.noEffect("nothing of it is offloaded to `nvme`");
  } else {
    to.set(found, "nvme-path", std::string(folder));
  }
}

void pathOfAuto(const ConfigEntry &, Translation &to) {
  to.noEffect("auto: nobody makes up a folder; give --nvme-path, or write one");
}

} // namespace

const Converter offloadOptimizer = {.read = readOffloadOptimizer,
                                    .automatic = choiceOfAuto,
                                    .switched = offloadSwitched};
const Converter offloadParam = {.read = readOffloadParam,
                                .automatic = choiceOfAuto,
                                .switched = offloadSwitched};
const Converter offloadRatio = {.read = readOffloadRatio,
                                .automatic = choiceOfAuto};
const Converter nvme = {.read = readNvme};
const Converter nvmePath = {.read = readNvmePath, .automatic = pathOfAuto};

} // namespace zerograph::config
