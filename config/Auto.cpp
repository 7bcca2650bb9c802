//===- Auto.cpp - what becomes of the word auto ---------------------------===//
//
// In a file for Transformers' Trainer, `auto` is what the Trainer's arguments
// say. Here it is what the command line says, or the compiler's own default.
//
//===----------------------------------------------------------------------===//

#include "config/Converters.h"
#include "config/Translation.h"
#include "config/Write.h"
#include "options/Options.h"

#include <cmath>
#include <utility>

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

/// What Transformers makes of a model's hidden size where the key is auto; 0:
/// of this key nothing.
int64_t ofHiddenSize(const std::string &path, int64_t size) {
  double square = double(size) * double(size);
  return path == "zero_optimization.reduce_bucket_size" ? int64_t(square)
         : path == "zero_optimization.stage3_prefetch_bucket_size"
             ? int64_t(0.9 * square)
         : path == "zero_optimization.stage3_param_persistence_threshold"
             ? 10 * size
             : 0;
}

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

/// Nobody fills it in here: what the compiler's own default is.
void Translation::sayAuto(const Given &found) {
  const Key &key = *found.key;
  double decay = options::weightDecay(optimizerOf(*this), NAN);
  std::string text = key.option == "weight-decay"    ? numberText(decay)
                     : defaultOf(key.option).empty() ? key.value
                                                     : defaultOf(key.option);
  if (key.does == Does::Refused) {
    noEffect("auto: off");
  } else if (key.convert == batch) {
    batch(found, *this);
  } else if (key.convert == betas && cyclesBetas(*this)) {
    betas(found, *this);
  } else if (key.convert == rate && !rateOfSchedule(*this).empty()) {
    rate(found, *this);
  } else if (key.convert == config::precision && given("precision")) {
    set(found, key.option, *given("precision"), /*by_default=*/true);
    say("auto: as the command line says");
  } else if (key.convert == clipping) {
    set(found, "clip-norm", "1", /*by_default=*/true);
    say("auto: as where it is missing");
  } else if (key.convert == nvmePath) {
    noEffect("auto: nobody makes up a folder; give --nvme-path, or write one");
  } else if (key.convert == overflow) {
    say("auto: as where it is missing");
  } else if (key.convert == peak) {
    say("auto: the optimizer's rate");
  } else if (ofHiddenSize(key.path, 2) > 0) {
    say("auto: Transformers makes it of the model's hidden size; nothing "
        "follows from a model without one");
  } else if (key.convert == nullptr || key.option.empty() || text == "null") {
    say(key.text);
  } else {
    say(absl::StrCat("auto: ", text, ", the default of --", key.option));
    for (auto [path, theirs, bound] : kTransformers) {
      if (key.path == path && text != theirs) {
        config.autos.push_back({key.path, key.option, text, theirs, bound});
      }
    }
  }
}

} // namespace zerograph::config
