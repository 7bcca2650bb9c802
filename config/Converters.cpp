//===- Converters.cpp - from a key's value to options ---------------------===//

#include "config/Converters.h"

#include "config/Translation.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

#include <algorithm>

namespace zerograph::config {

void same(const Given &found, Translation &to) {
  const Key &key = *found.key;
  std::string text = found.value.text;
  if (key.type == Type::Bool) {
    if (!*found.value.boolean()) {
      to.noEffect("off");
      return;
    }
    text = "true";
  } else if (key.type == Type::Integer) {
    text = absl::StrCat(*found.value.integer());
  } else if (key.type == Type::Number) {
    text = numberText(*found.value.number());
  }
  to.set(found, key.option, text, !asks(found.value, key));
}

void batch(const Given &found, Translation &to) { to.sayBatch(found); }

void clipping(const Given &found, Translation &to) {
  double norm = *found.value.number();
  if (norm == 0) {
    to.say("no clipping");
  } else {
    to.set(found, "clip-norm", numberText(norm));
  }
}

void gradientMean(const Given &found, Translation &to) {
  if (!absl::EqualsIgnoreCase(found.value.text, "mean")) {
    to.refuse(found, "not built yet: the ranks' gradients become their mean");
  }
}

void float32(const Given &found, Translation &to) {
  if (!absl::EqualsIgnoreCase(found.value.text, "fp32")) {
    to.refuse(found, absl::StrCat("not built yet: ", found.key->text));
  }
}

void wire(const Given &found, Translation &to) {
  for (const char *type : {"fp32", "bf16", "fp16"}) {
    if (absl::EqualsIgnoreCase(found.value.text, type)) {
      to.set(found, found.key->option, type);
      return;
    }
  }
  to.refuse(found, "expected fp32, bf16 or fp16");
}

void precision(const Given &found, Translation &to) {
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

void dynamicScale(const Given &found, Translation &to) {
  std::string fixed = fixedScale(to);
  if (fixed.empty()) {
    same(found, to);
  } else {
    to.noEffect(fixed);
  }
}

void overflow(const Given &found, Translation &to) { same(found, to); }

void masters(const Given &found, Translation &to) {
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

void elements(const Given &found, Translation &to) {
  constexpr int64_t kMost = int64_t(1) << 38, kBytes = 4;
  int64_t stage = to.stage();
  bool gathers = found.key->path == "zero_optimization.allgather_bucket_size";
  if (stage == 0 || (gathers && stage == 3)) {
    to.noEffect(absl::StrCat("with stage ", stage,
                             gathers ? ": it is for stages 1 and 2"
                                     : ": it is for stages 1, 2 and 3"));
    return;
  }
  int64_t least = kMost;
  for (const char *path : {"zero_optimization.reduce_bucket_size",
                           "zero_optimization.allgather_bucket_size"}) {
    const Value *size = to.value(path);
    if (size != nullptr && (stage < 3 || path[18] == 'r')) {
      least = std::min(least, std::max<int64_t>(*size->integer(), 0));
    }
  }
  to.set(found, "bucket-bytes", absl::StrCat(least * kBytes));
}

void prefetch(const Given &found, Translation &to) {
  if (to.stage() != 3) {
    to.noEffect(absl::StrCat("with stage ", to.stage(), ": it is for stage 3"));
  } else if (*found.value.integer() == 0) {
    to.set(found, "prefetch", "0");
  }
}

void persistence(const Given &found, Translation &to) {
  if (to.stage() != 3) {
    to.noEffect(absl::StrCat("with stage ", to.stage(), ": it is for stage 3"));
    return;
  }
  to.set(found, "persistence-threshold", absl::StrCat(*found.value.integer()));
}

void recompute(const Given &found, Translation &to) {
  if (asks(found.value, *found.key) && found.value.integer() != 0) {
    to.set(found, "recompute", "units");
  } else {
    to.noEffect("off");
  }
}

} // namespace zerograph::config
