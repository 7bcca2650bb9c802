//===- Write.cpp - the DeepSpeed file of options --------------------------===//

#include "config/Write.h"

#include "config/Converters.h"
#include "config/FileWriter.h"
#include "options/Options.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <type_traits>

namespace zerograph::config {
namespace {

template <typename Names>
const char *nameThere(const Names &names, const std::string &here) {
  for (auto [ours, theirs] : names) {
    if (here == ours) {
      return theirs;
    }
  }
  return nullptr;
}

/// A field's value as on a command line; empty where it has none.
template <typename T>
std::string textOf(const T &value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::isnan(value) ? "" : numberText(value);
  } else {
    return "";
  }
}

/// Whether the betas are cycled as DeepSpeed does, whose second is 0.99.
bool cyclesBetas(const FileWriter &file) {
  double most = 0;
  auto both = options::betas(file.value("optimizer"), file.value("betas"));
  return file.value("schedule") == "one-cycle" && both &&
         both->second == 0.99 &&
         absl::SimpleAtod(file.value("cycle-max-momentum"), &most) && most > 0;
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

void writeBatch(const Key &key, FileWriter &file) {
  if (key.path == "train_batch_size") {
    if (file.has("micro-batch")) {
      file.put(key, absl::StrCat(file.integer("micro-batch") *
                                 file.integer("accumulate") *
                                 file.integer("ranks")));
    }
  } else if (file.has(key.option) || key.option == "accumulate") {
    file.put(key, file.value(key.option));
  } else {
    file.put(key, "auto");
  }
}

void writeOptimizer(const Key &key, FileWriter &file) {
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

/// Where the schedule ends, which DeepSpeed must be told, and we know of a run.
void writeTotal(const Key &key, FileWriter &file) {
  std::string kind = file.value("schedule");
  if (kind != "warmup-decay" && kind != "warmup-cosine") {
    return;
  }
  if (file.has("steps")) {
    file.put(key, file.value("steps"));
    return;
  }
  file.put(key, "auto");
  file.note("\"total_num_steps\" is \"auto\", which is the steps of the run "
            "here and in Transformers; DeepSpeed alone needs a number: give "
            "--total-steps");
}

void write(const Key &key, FileWriter &file) {
  bool stage3 = file.integer("zero") == 3;
  if (absl::StartsWith(key.path, "scheduler.params.") &&
      !file.wrote("scheduler.type")) {
    return; // a schedule that DeepSpeed does not have
  }
  if (key.convert == batch) {
    writeBatch(key, file);
  } else if (key.convert == clipping) {
    writeClipping(key, file);
  } else if (key.convert == overflow) {
    if (file.value("precision") == "bf16") { // missing would be true
      file.putWhether(key, file.has("skip-nonfinite"));
    }
  } else if (key.convert == wire) {
    // Missing would be what it computes with.
    if (file.has("reduce-precision") || file.value("precision") != "fp32") {
      file.put(key, file.value("reduce-precision"));
    }
  } else if (key.convert == masters) {
    if (file.value("master-precision") == "bf16") {
      file.putWhether(key, true);
    }
  } else if (key.convert == optimizerType) {
    writeOptimizer(key, file);
  } else if (key.convert == scheduleType) {
    const char *type = nameThere(kSchedules, file.value("schedule"));
    if (file.has("schedule") && type != nullptr) {
      file.put(key, type);
    }
  } else if (key.convert == peak) {
    bool cycle = file.value("schedule") == "one-cycle";
    bool ours = key.path == "scheduler.params.cycle_max_lr";
    if (cycle == ours && file.value("schedule") != "warmup-cosine") {
      file.put(key, file.value("lr"));
    }
  } else if (key.convert == cycleMomentum) {
    if (file.value("schedule") == "one-cycle") {
      file.putWhether(key, cyclesBetas(file));
    }
  } else if (key.convert == cycleBound) {
    if (cyclesBetas(file)) {
      file.put(key, file.value(key.option));
    }
  } else if (key.option == "total-steps" && !file.has("total-steps")) {
    writeTotal(key, file);
  } else if (!file.has(key.option)) {
    return;
  } else if (key.convert == recompute) {
    if (absl::EndsWith(key.path, ".partition_activations")) {
      file.putWhether(key, file.value("recompute") == "units");
    }
  } else if (key.convert == precision) {
    if (key.path == file.value("precision") + ".enabled") {
      file.putWhether(key, true);
    } else if (file.value("precision") == "fp32") {
      file.putWhether(key, false);
    }
  } else if (key.convert == elements) {
    bool gathers = key.path == "zero_optimization.allgather_bucket_size";
    if (file.integer("zero") > 0 && !(stage3 && gathers)) {
      file.put(key, absl::StrCat(file.integer(key.option) / 4));
    }
  } else if (key.convert == persistence) {
    if (stage3) {
      file.put(key, file.value(key.option));
    }
  } else if (key.convert == prefetch) {
    if (stage3 && file.integer(key.option) == 0) {
      file.put(key, "0");
    }
  } else {
    file.put(key, file.value(key.option));
  }
}

} // namespace

std::string defaultOf(const std::string &option) {
  options::Compile fields;
#define ZG_COMPILE_OPTION(type, field, value, name, ...)                       \
  if (option == name) {                                                        \
    return textOf(fields.field);                                               \
  }
#include "options/Options.def"
  return "";
}

Written writeDeepSpeed(const std::map<std::string, std::string> &given) {
  FileWriter file(given);
  for (const Key &key : keys()) {
    if (key.dialect == Dialect::DeepSpeed && key.convert != nullptr) {
      write(key, file);
    }
  }
  return file.finish();
}

} // namespace zerograph::config
