//===- OptimizerKeys.cpp - the optimizer and the schedule -----------------===//

#include "config/Converters.h"
#include "config/Translation.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace zerograph::config {
namespace {

bool isType(const Translation &to, const char *section, const char *type) {
  const Value *value = to.value(absl::StrCat(section, ".type"));
  return value != nullptr && absl::EqualsIgnoreCase(value->text, type);
}

/// A flag of the optimizer's parameters.
bool flag(const Translation &to, const char *name, bool fallback) {
  const Value *value = to.value(absl::StrCat("optimizer.params.", name));
  return value != nullptr ? *value->boolean() : fallback;
}

/// Sets what DeepSpeed does where a parameter is missing, and we do not.
void setWhereMissing(const Given &found, Translation &to, const char *parameter,
                     const char *option, const char *value) {
  std::string path = absl::StrCat("optimizer.params.", parameter);
  if (to.value(path) == nullptr && !to.isAuto(path)) {
    to.set(found, option, value, /*by_default=*/true);
    to.say(absl::StrCat("'", parameter, "' is missing: ", value));
  }
}

/// The key that has the rate at the top of the schedule, if one has.
const char *peakKey(const Translation &to) {
  const char *key = isType(to, "scheduler", "OneCycle")
                        ? "scheduler.params.cycle_max_lr"
                        : "scheduler.params.warmup_max_lr";
  bool has = to.value("scheduler.type") != nullptr && to.value(key) != nullptr;
  return has ? key : nullptr;
}

/// What WarmupDecayLR takes for the peak where nobody says it.
bool hasDecaysPeak(const Translation &to) {
  return isType(to, "scheduler", "WarmupDecayLR") &&
         to.value("scheduler.params.warmup_max_lr") == nullptr &&
         !to.isAuto("scheduler.params.warmup_max_lr");
}

} // namespace

void optimizerType(const Given &found, Translation &to) {
  std::string type = absl::AsciiStrToLower(found.value.text);
  for (const char *compressed : {"onebitadam", "zerooneadam", "onebitlamb"}) {
    if (type == compressed) {
      to.refuse(found, "not built yet: gradients are not compressed");
      return;
    }
  }
  if (type == "adam" && flag(to, "adam_w_mode", true)) {
    type = "adamw";
    to.note("'optimizer.type' Adam means AdamW, as in DeepSpeed; "
            "\"adam_w_mode\": false is Adam");
  }
  to.set(found, "optimizer", type);
  if (type == "adamw" && !flag(to, "torch_adam", false)) {
    setWhereMissing(found, to, "weight_decay", "weight-decay", "0");
  } else if (type == "adagrad") {
    bool rate = peakKey(to) == nullptr && !hasDecaysPeak(to);
    if (rate) {
      setWhereMissing(found, to, "lr", "lr", "0.01");
    }
    setWhereMissing(found, to, "eps", "eps", "1e-10");
  } else if (type == "lion") {
    setWhereMissing(found, to, "betas", "betas", "0.9,0.99");
    setWhereMissing(found, to, "weight_decay", "weight-decay", "0");
  }
}

void rate(const Given &found, Translation &to) {
  if (const char *key = peakKey(to)) {
    to.noEffect(
        absl::StrCat("the schedule's own rate comes before it: '", key, "'"));
  } else if (hasDecaysPeak(to)) {
    to.noEffect("WarmupDecayLR without 'warmup_max_lr' rises to 0.001");
  } else {
    same(found, to);
  }
}

void scheduleType(const Given &found, Translation &to) {
  constexpr std::pair<const char *, const char *> kSchedules[] = {
      {"WarmupLR", "warmup"},
      {"WarmupDecayLR", "warmup-decay"},
      {"WarmupCosineLR", "warmup-cosine"},
      {"OneCycle", "one-cycle"}};
  for (auto [type, schedule] : kSchedules) {
    if (!absl::EqualsIgnoreCase(found.value.text, type)) {
      continue;
    }
    to.set(found, "schedule", schedule);
    if (hasDecaysPeak(to)) {
      to.set(found, "lr", "0.001", /*by_default=*/true);
      to.note("WarmupDecayLR without 'warmup_max_lr' rises to 0.001, whatever "
              "the optimizer's rate is");
    }
    if (schedule[0] == 'w' && !to.has("scheduler.params.warmup_type")) {
      to.note("'warmup_type' is missing: the rate rises with the logarithm of "
              "the step; \"warmup_type\": \"linear\" is the other way");
    }
    if (schedule[0] == 'o' && !to.has("scheduler.params.cycle_momentum")) {
      cycleMomentum(found, to);
    }
    return;
  }
  to.refuse(found, "there are WarmupLR, WarmupDecayLR, WarmupCosineLR and "
                   "OneCycle; others are not built yet");
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
  bool asked = found.value.boolean().value_or(true);
  if (isType(to, "optimizer", "SGD")) {
    to.say("SGD's momentum stays as it is, in DeepSpeed as well");
  } else if (asked && isType(to, "scheduler", "OneCycle")) {
    to.refuse(found, "not built yet: OneCycle changes the first beta as well, "
                     "unless \"cycle_momentum\" is false");
  }
}

} // namespace zerograph::config
