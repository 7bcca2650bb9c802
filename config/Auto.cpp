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

/// What Transformers fills in where its arguments do not say it either, of keys
/// that change a training; and what the option must be, where it does not take
/// that.
constexpr struct {
  const char *path, *theirs, *bound;
} kTransformers[] = {{"optimizer.params.lr", "5e-05", ""},
                     {"optimizer.params.weight_decay", "0", ""},
                     // DeepSpeed does not take it either.
                     {"scheduler.params.warmup_num_steps", "0", "at least 1"}};

} // namespace

void Translation::fillIn() {
  for (Given &found : all) {
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

void Translation::sayDefault(const Given &found) {
  std::string ours = defaultOf(found.key->option);
  sayDefault(found, ours.empty() ? found.key->value : ours);
}

void Translation::sayDefault(const Given &found, const std::string &text) {
  const Key &key = *found.key;
  if (key.converter->read == nullptr || key.option.empty() || text == "null") {
    say(key.text);
    return;
  }
  say(absl::StrCat("auto: ", text, ", the default of --", key.option));
  for (auto [path, theirs, bound] : kTransformers) {
    if (key.path == path && text != theirs) {
      config.autos.push_back({key.path, key.option, text, theirs, bound});
    }
  }
}

/// Nobody fills it in here.
void Translation::sayAuto(const Given &found) {
  const Key &key = *found.key;
  if (key.does == Does::Refused) {
    noEffect("auto: off");
  } else if (key.converter->automatic != nullptr) {
    key.converter->automatic(found, *this);
  } else {
    sayDefault(found);
  }
}

} // namespace zerograph::config
