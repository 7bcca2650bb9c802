//===- Auto.cpp - what becomes of the word auto ---------------------------===//
//
// In a file for Transformers' Trainer, `auto` is what the Trainer's arguments
// say. Here it is what the command line says, or the compiler's own default.
//
//===----------------------------------------------------------------------===//

#include "config/Converters.h"
#include "config/Translation.h"
#include "config/Write.h"

namespace zerograph::config {
namespace {

/// Lists what Transformers fills in if its arguments are not given: the
/// defaults of TrainingArguments, by `HfTrainerDeepSpeedConfig` of its file
/// integrations/deepspeed.py, version 5.23. DeepSpeed takes no warm-up of 0
/// steps.
constexpr struct {
  const char *path, *theirs;
} kTransformers[] = {{"train_micro_batch_size_per_gpu", "8"},
                     {"gradient_accumulation_steps", "1"},
                     {"gradient_clipping", "1"},
                     {"optimizer.params.lr", "5e-05"},
                     {"optimizer.params.betas", "[0.9, 0.999]"},
                     {"optimizer.params.eps", "1e-8"},
                     {"optimizer.params.weight_decay", "0"},
                     {"scheduler.params.warmup_min_lr", "0"},
                     {"scheduler.params.warmup_max_lr", "5e-05"},
                     {"scheduler.params.warmup_num_steps", "1"},
                     {"fp16.enabled", "false"},
                     {"bf16.enabled", "false"}};

bool isNumber(const Key &key) {
  return key.type == Type::Number || key.type == Type::Integer;
}

} // namespace

/// The command line and the model are arguments of Transformers that are given.
void Translation::fillInDefaults(ConfigEntry &found) {
  const Key &key = *found.key;
  bool known_already = given(key.option) || (key.option == "micro-batch" &&
                                             known.model_batch.has_value());
  for (auto [path, theirs] : kTransformers) {
    if (key.path == path && !known_already) {
      int line = found.value.line;
      found.value = parseValue(absl::StrCat("value: ", theirs))->children[0];
      found.value.line = line;
      found.note = absl::StrCat("auto: ", theirs, ", Transformers' default");
    }
  }
}

void Translation::fillIn() {
  for (ConfigEntry &found : all) {
    if (found.value.isAuto() && known.like_transformers) {
      fillInDefaults(found);
    }
    int64_t size = known.hidden_size.value_or(0);
    int64_t number = ofHiddenSize(found.key->path, size);
    if (found.value.isAuto() && number > 0) {
      std::string text = absl::StrCat(number);
      found.value = Value::of(text, found.value.line);
      found.note = absl::StrCat("auto: ", text,
                                ", as Transformers makes it of the model's "
                                "hidden size ",
                                size);
    }
  }
}

void Translation::sayDefault(const ConfigEntry &found) {
  std::string ours = defaultOf(found.key->option);
  sayDefault(found, ours.empty() ? found.key->value : ours);
}

void Translation::sayDefault(const ConfigEntry &found,
                             const std::string &text) {
  const Key &key = *found.key;
  if (key.converter->read == nullptr || key.option.empty() || text == "null") {
    say(key.text);
    return;
  }
  say(absl::StrCat("auto: ", text, ", the default of --", key.option));
  for (auto [path, theirs] : kTransformers) {
    if (key.path == path && isNumber(key) && text != theirs) {
      config.autos.push_back({key.path, key.option, text, theirs});
    }
  }
}

/// Nobody fills it in here.
void Translation::sayAuto(const ConfigEntry &found) {
  const Key &key = *found.key;
  if (key.does == KeySupport::Refused) {
    noEffect("auto: off");
  } else if (key.converter->automatic != nullptr) {
    key.converter->automatic(found, *this);
  } else {
    sayDefault(found);
  }
}

} // namespace zerograph::config
