//===- GradientKeys.cpp - keys of how gradients are added and sent --------===//

#include "config/Converters.h"

#include "config/FileWriter.h"
#include "config/Translation.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

#include <cmath>

namespace zerograph::config {
namespace {

void readClipping(const ConfigEntry &found, Translation &to) {
  double norm = *found.value.number();
  if (norm == 0) {
    to.say("no clipping");
  } else {
    to.set(found, "clip-norm", numberText(norm));
  }
}

void clippingOfAuto(const ConfigEntry &found, Translation &to) {
  to.set(found, "clip-norm", "1", /*by_default=*/true);
  to.say("auto: as where it is missing");
}

/// Missing would be 1.0.
void writeClipping(const Key &key, FileWriter &file) {
  double norm = 0;
  bool given =
      file.has("clip-norm") && absl::SimpleAtod(file.value("clip-norm"), &norm);
  if (given && std::isinf(norm)) { // JSON has no such number
    file.note("--clip-norm inf clips nothing, which is "
              "\"gradient_clipping\": 0 there; who reads the file back does "
              "not log the norm");
    norm = 0;
  }
  file.put(key, numberText(norm));
}

void readGradientMean(const ConfigEntry &found, Translation &to) {
  if (!absl::EqualsIgnoreCase(found.value.text, "mean")) {
    to.refuse(found, "not built yet: the ranks' gradients become their mean");
  }
}

void readFloat32(const ConfigEntry &found, Translation &to) {
  if (!absl::EqualsIgnoreCase(found.value.text, "fp32")) {
    to.refuse(found, absl::StrCat("not built yet: ", found.key->text));
  }
}

void readWire(const ConfigEntry &found, Translation &to) {
  for (const char *type : {"fp32", "bf16", "fp16"}) {
    if (absl::EqualsIgnoreCase(found.value.text, type)) {
      to.set(found, found.key->option, type);
      return;
    }
  }
  to.refuse(found, "expected fp32, bf16 or fp16");
}

/// Missing would be what it computes with.
void writeWire(const Key &key, FileWriter &file) {
  if (file.has(key.option) || file.value("precision") != "fp32") {
    file.put(key, file.value(key.option));
  }
}

} // namespace

const Converter clipping = {
    .read = readClipping, .automatic = clippingOfAuto, .write = writeClipping};
const Converter gradientMean = {.read = readGradientMean};
const Converter float32 = {.read = readFloat32};
const Converter wire = {.read = readWire, .write = writeWire};

} // namespace zerograph::config
