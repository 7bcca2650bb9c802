//===- Write.cpp - the DeepSpeed file of options --------------------------===//

#include "config/Write.h"

#include "config/Converters.h"
#include "config/Keys.h"
#include "options/Options.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <type_traits>

namespace zerograph::config {
namespace {

using nlohmann::ordered_json;

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

class FileWriter {
public:
  explicit FileWriter(const std::map<std::string, std::string> &given)
      : given(given) {}

  Written write() {
    for (const Key &key : keys()) {
      if (key.dialect == Dialect::DeepSpeed && key.convert != nullptr) {
        write(key);
      }
    }
    Written result{json.dump(2) + "\n", {}, std::move(notes)};
    for (const auto &[option, text] : given) {
      if (!said.count(option)) {
        result.without.push_back(option);
      }
    }
    return result;
  }

private:
  bool has(const std::string &option) const { return given.count(option) > 0; }
  std::string value(const std::string &option) const {
    return has(option) ? given.at(option) : defaultOf(option);
  }
  /// Whether the betas are cycled as DeepSpeed does, whose second is 0.99.
  bool cyclesBetas() const {
    double most = 0;
    auto both = options::betas(value("optimizer"), value("betas"));
    return value("schedule") == "one-cycle" && both && both->second == 0.99 &&
           absl::SimpleAtod(value("cycle-max-momentum"), &most) && most > 0;
  }
  int64_t integer(const std::string &option) const {
    int64_t number = 0;
    return absl::SimpleAtoi(value(option), &number) ? number : 0;
  }

  void put(const Key &key, ordered_json content) {
    ordered_json *at = &json;
    for (absl::string_view name : absl::StrSplit(key.path, '.')) {
      at = &(*at)[std::string(name)];
    }
    *at = std::move(content);
    said.insert(key.option);
  }

  static ordered_json typed(const std::string &text, Type type) {
    int64_t whole;
    double real;
    if (type == Type::Bool) {
      return text != "false";
    }
    if (type == Type::Integer && absl::SimpleAtoi(text, &whole)) {
      return whole;
    }
    if (type == Type::Number && absl::SimpleAtod(text, &real)) {
      return real;
    }
    return text;
  }

  void write(const Key &key);
  void writeClipping(const Key &key);
  void writeBatch(const Key &key);
  void writeOptimizer(const Key &key);
  void writeTotal(const Key &key);

  const std::map<std::string, std::string> &given;
  ordered_json json;
  std::set<std::string> said;
  std::vector<std::string> notes;
};

/// Missing would be 1.0.
void FileWriter::writeClipping(const Key &key) {
  double norm = 0;
  bool given = has("clip-norm") && absl::SimpleAtod(value("clip-norm"), &norm);
  if (given && std::isinf(norm)) { // JSON has no such number
    norm = 0;
    notes.emplace_back("--clip-norm inf clips nothing, which is "
                       "\"gradient_clipping\": 0 there; who reads the file "
                       "back does not log the norm");
  }
  put(key, norm);
}

void FileWriter::writeBatch(const Key &key) {
  if (key.path == "train_batch_size") {
    if (has("micro-batch")) {
      put(key,
          integer("micro-batch") * integer("accumulate") * integer("ranks"));
    }
  } else if (has(key.option) || key.option == "accumulate") {
    put(key, integer(key.option));
  } else {
    put(key, "auto");
  }
}

void FileWriter::writeOptimizer(const Key &key) {
  std::string kind = value("optimizer");
  put(key, std::string(options::optimizerOf(kind).deepspeed));
  auto param = [&](const char *name, ordered_json content) {
    put(*findKey(Dialect::DeepSpeed, std::string("optimizer.params.") + name),
        std::move(content));
  };
  param("lr", typed(value("lr"), Type::Number));
  if (kind == "adamw" && !has("weight-decay")) {
    param("weight_decay", options::weightDecay(kind, NAN));
  }
  if (kind == "adam") {
    param("adam_w_mode", false);
  }
}

/// Where the schedule ends, which DeepSpeed must be told, and we know of a run.
void FileWriter::writeTotal(const Key &key) {
  std::string kind = value("schedule");
  if (kind != "warmup-decay" && kind != "warmup-cosine") {
    return;
  }
  if (has("steps")) {
    put(key, integer("steps"));
    return;
  }
  put(key, "auto");
  notes.emplace_back("\"total_num_steps\" is \"auto\", which is the steps of "
                     "the run here and in Transformers; DeepSpeed alone needs "
                     "a number: give --total-steps");
}

void FileWriter::write(const Key &key) {
  bool stage3 = integer("zero") == 3;
  if (absl::StartsWith(key.path, "scheduler.params.") &&
      !json.contains("scheduler")) {
    return; // a schedule that DeepSpeed does not have
  }
  if (key.convert == batch) {
    writeBatch(key);
  } else if (key.convert == clipping) {
    writeClipping(key);
  } else if (key.convert == overflow) {
    if (value("precision") == "bf16") { // missing would be true
      put(key, has("skip-nonfinite"));
    }
  } else if (key.convert == wire) {
    // Missing would be what it computes with.
    if (has("reduce-precision") || value("precision") != "fp32") {
      put(key, value("reduce-precision"));
    }
  } else if (key.convert == masters) {
    if (value("master-precision") == "bf16") {
      put(key, true);
    }
  } else if (key.convert == optimizerType) {
    writeOptimizer(key);
  } else if (key.convert == scheduleType) {
    const char *type = nameThere(kSchedules, value("schedule"));
    if (has("schedule") && type != nullptr) {
      put(key, type);
    }
  } else if (key.convert == peak) {
    bool cycle = value("schedule") == "one-cycle";
    bool ours = key.path == "scheduler.params.cycle_max_lr";
    if (cycle == ours && value("schedule") != "warmup-cosine") {
      put(key, typed(value("lr"), key.type));
    }
  } else if (key.convert == cycleMomentum) {
    if (value("schedule") == "one-cycle") {
      put(key, cyclesBetas());
    }
  } else if (key.convert == cycleBound) {
    if (cyclesBetas()) {
      put(key, typed(value(key.option), key.type));
    }
  } else if (key.option == "total-steps" && !has("total-steps")) {
    writeTotal(key);
  } else if (!has(key.option)) {
    return;
  } else if (key.convert == recompute) {
    if (absl::EndsWith(key.path, ".partition_activations")) {
      put(key, value("recompute") == "units");
    }
  } else if (key.convert == precision) {
    if (key.path == value("precision") + ".enabled") {
      put(key, true);
    } else if (value("precision") == "fp32") {
      put(key, false);
    }
  } else if (key.convert == elements) {
    bool gathers = key.path == "zero_optimization.allgather_bucket_size";
    if (integer("zero") > 0 && !(stage3 && gathers)) {
      put(key, integer(key.option) / 4);
    }
  } else if (key.convert == persistence) {
    if (stage3) {
      put(key, integer(key.option));
    }
  } else if (key.convert == prefetch) {
    if (stage3 && integer(key.option) == 0) {
      put(key, 0);
    }
  } else if (key.convert == betas) {
    std::vector<ordered_json> two;
    for (absl::string_view part : absl::StrSplit(value(key.option), ',')) {
      two.push_back(typed(std::string(part), Type::Number));
    }
    put(key, two);
  } else {
    put(key, typed(value(key.option), key.type));
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
  return FileWriter(given).write();
}

} // namespace zerograph::config
