//===- MemoryKeys.cpp - keys of what memory holds at once -----------------===//

#include "config/Converters.h"

#include "config/FileWriter.h"
#include "config/Translation.h"

#include "absl/strings/match.h"

#include <algorithm>

namespace zerograph::config {
namespace {

constexpr int64_t kBytes = 4; // of an element

bool isOfGathers(const Key &key) {
  return key.path == "zero_optimization.allgather_bucket_size";
}

/// Says of a size what follows from auto: one that Transformers would make.
void sizeOfAuto(const ConfigEntry &found, Translation &to) {
  if (ofHiddenSize(found.key->path, 2) > 0) {
    to.say("auto: Transformers makes it of the model's hidden size; nothing "
           "follows from a model without one");
  } else {
    to.sayDefault(found);
  }
}

void readElements(const ConfigEntry &found, Translation &to) {
  constexpr int64_t kMost = int64_t(1) << 38;
  int64_t stage = to.stage();
  bool gathers = isOfGathers(*found.key);
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

void writeElements(const Key &key, FileWriter &file) {
  int64_t stage = file.integer("zero");
  if (file.has(key.option) && stage > 0 && !(stage == 3 && isOfGathers(key))) {
    file.put(key, absl::StrCat(file.integer(key.option) / kBytes));
  }
}

void readPrefetch(const ConfigEntry &found, Translation &to) {
  if (to.stage() != 3) {
    to.noEffect(absl::StrCat("with stage ", to.stage(), ": it is for stage 3"));
  } else if (*found.value.integer() == 0) {
    to.set(found, "prefetch", "0");
  }
}

void writePrefetch(const Key &key, FileWriter &file) {
  if (file.has(key.option) && file.integer("zero") == 3 &&
      file.integer(key.option) == 0) {
    file.put(key, "0");
  }
}

void readPersistence(const ConfigEntry &found, Translation &to) {
  if (to.stage() != 3) {
    to.noEffect(absl::StrCat("with stage ", to.stage(), ": it is for stage 3"));
    return;
  }
  to.set(found, "persistence-threshold", absl::StrCat(*found.value.integer()));
}

void writePersistence(const Key &key, FileWriter &file) {
  if (file.integer("zero") == 3) {
    file.putGiven(key);
  }
}

void readRecompute(const ConfigEntry &found, Translation &to) {
  if (asks(found.value, *found.key) && found.value.integer() != 0) {
    to.set(found, "recompute", "units");
  } else {
    to.noEffect("off");
  }
}

/// Writes one of the keys that mean it. No key says `selective` or a budget.
void writeRecompute(const Key &key, FileWriter &file) {
  std::string value = file.value(key.option);
  if (file.has(key.option) && (value == "units" || value == "none") &&
      absl::EndsWith(key.path, ".partition_activations")) {
    file.putWhether(key, value == "units");
  }
}

void readOffloadActivations(const ConfigEntry &found, Translation &to) {
  readRecompute(found, to);
  if (asks(found.value, *found.key) && to.given("recompute") != "none") {
    to.set(found, "offload-activations", "cpu");
  }
}

void writeOffloadActivations(const Key &key, FileWriter &file) {
  if (file.has(key.option) && file.value("recompute") == "units") {
    file.putWhether(key, file.value(key.option) == "cpu");
  }
}

} // namespace

int64_t ofHiddenSize(absl::string_view path, int64_t size) {
  double square = double(size) * double(size);
  return path == "zero_optimization.reduce_bucket_size" ? int64_t(square)
         : path == "zero_optimization.stage3_prefetch_bucket_size"
             ? int64_t(0.9 * square)
         : path == "zero_optimization.stage3_param_persistence_threshold"
             ? 10 * size
             : 0;
}

const Converter elements = {
    .read = readElements, .automatic = sizeOfAuto, .write = writeElements};
const Converter prefetch = {
    .read = readPrefetch, .automatic = sizeOfAuto, .write = writePrefetch};
const Converter persistence = {.read = readPersistence,
                               .automatic = sizeOfAuto,
                               .write = writePersistence};
const Converter recompute = {.read = readRecompute, .write = writeRecompute};
const Converter offloadActivations = {.read = readOffloadActivations,
                                      .write = writeOffloadActivations};

} // namespace zerograph::config
