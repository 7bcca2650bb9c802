//===- Options.h - what a user can set, as fields -------------------------===//
//
// The rows of Options.def as structs. No checks here: those are the command
// line's, and of passes and the runtime for what they are given.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_OPTIONS_H
#define ZEROGRAPH_OPTIONS_OPTIONS_H

#include "options/Optimizers.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zerograph::options {

/// The options that decide a plan, with its defaults.
struct Compile {
#define ZG_COMPILE_OPTION(type, field, value, ...) type field = value;
#include "options/Options.def"
};

/// The options that decide a run, with its defaults.
struct Train {
#define ZG_TRAIN_OPTION(type, field, value, ...) type field = value;
#include "options/Options.def"
};

/// The options that decide an export alone, with its defaults.
struct Export {
#define ZG_EXPORT_OPTION(type, field, value, ...) type field = value;
#include "options/Options.def"
};

/// Names who takes an option, in the column `takers` of Options.def. A taker
/// gets it in the field of the same name.
enum Taker : unsigned {
  kPasses = 1,    // passes, by the `options` of a Passes.td
  kImporter = 2,  // frontend::ImportOptions
  kExporter = 4,  // frontend::ExportOptions
  kRun = 8,       // TrainOptions
  kForward = 16,  // ForwardOptions
  kSchedule = 32, // plan::Schedule
  kTools = 64,    // nobody: tools, targets or Pipelines.cpp read the field
};

/// Gives a taker its options: each field of `to` that has the name of an option
/// of `from` gets that option's value. Does not compile where the row of an
/// option names the taker and `to` has no such field, or the other way round. A
/// pass has only some of those of `kPasses`; Pipelines.cpp checks all together.
template <Taker taker, typename From, typename To>
void copy(const From &from, To &to) {
#define ZG_OPTION(Struct, type, field, value, name, placeholder, check,        \
                  commands, takers, ...)                                       \
  if constexpr (std::is_base_of_v<Struct, From>) {                             \
    constexpr bool has = requires { to.field = from.field; };                  \
    static_assert(taker == kPasses || has == (((takers)&taker) != 0),          \
                  "--" name ": the column takers says otherwise");             \
    if constexpr (has) {                                                       \
      to.field = from.field;                                                   \
    }                                                                          \
  }
#include "options/Options.def"
}

/// Returns the two numbers of "0.9,0.999"; nothing if it is not two.
inline std::optional<std::pair<double, double>>
parseBetas(std::string_view text) {
  std::pair<double, double> betas;
  const char *end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, betas.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ',') {
    return std::nullopt;
  }
  auto second = std::from_chars(first.ptr + 1, end, betas.second);
  if (second.ec != std::errc() || second.ptr != end ||
      std::isnan(betas.first) || std::isnan(betas.second)) {
    return std::nullopt;
  }
  return betas;
}

/// Returns the values that options give an optimizer: its defaults where they
/// say nothing. They may be illegal: see faultsOf. Returns nothing where
/// `--betas` is not two numbers.
inline std::optional<Hyperparameters>
hyperparametersOf(const Optimizer &optimizer, const Compile &options) {
  std::pair<double, double> betas = {kUnset, kUnset};
  if (!options.betas.empty()) {
    auto given = parseBetas(options.betas);
    if (!given) {
      return std::nullopt;
    }
    betas = *given;
  }
  const Hyperparameters given = {
      .lr = options.lr,
      .beta1 = betas.first,
      .beta2 = betas.second,
      .eps = options.eps,
      .weight_decay = options.weight_decay,
      .momentum = options.momentum,
      .nesterov = double(options.nesterov),
      .lamb_min_coeff = options.lamb_min_coeff,
      .lamb_max_coeff = options.lamb_max_coeff,
  };
  Hyperparameters values;
  for (const Hyperparameter &one : kHyperparameters) {
    if (const TakenNumber *taken = optimizer.find(one.number)) {
      double value = given.*one.number;
      values.*one.number = std::isnan(value) ? taken->value : value;
    }
  }
  return values;
}

/// Returns what `--warmup-steps` means: DeepSpeed's schedules begin with one.
inline int64_t warmupSteps(std::string_view schedule,
                           std::optional<int64_t> given) {
  return given.value_or(schedule.substr(0, 6) == "warmup" ? 1000 : 0);
}

/// Returns what `--skip-nonfinite` means: a scaled loss overflows now and then.
template <typename Options>
bool skipsNonfinite(const Options &options) {
  return options.skip_nonfinite || options.precision == "fp16";
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_OPTIONS_H
