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

/// Gives each field of `to` (a pass's options, an interface's) that has the
/// name of an option that option's value.
template <typename To>
void copy(const Compile &from, To &to) {
#define ZG_COMPILE_OPTION(type, field, ...)                                    \
  if constexpr (requires { to.field = from.field; }) {                         \
    to.field = from.field;                                                     \
  }
#include "options/Options.def"
}
template <typename To>
void copy(const Train &from, To &to) {
#define ZG_TRAIN_OPTION(type, field, ...)                                      \
  if constexpr (requires { to.field = from.field; }) {                         \
    to.field = from.field;                                                     \
  }
#include "options/Options.def"
}
template <typename To>
void copy(const Export &from, To &to) {
#define ZG_EXPORT_OPTION(type, field, ...)                                     \
  if constexpr (requires { to.field = from.field; }) {                         \
    to.field = from.field;                                                     \
  }
#include "options/Options.def"
}

/// "0.9,0.999": two numbers in [0, 1); nothing if it is not that.
inline std::optional<std::pair<double, double>>
parseBetas(std::string_view text) {
  std::pair<double, double> betas;
  const char *end = text.data() + text.size();
  auto good = [](double beta) { return beta >= 0 && beta < 1; };
  auto first = std::from_chars(text.data(), end, betas.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ',') {
    return std::nullopt;
  }
  auto second = std::from_chars(first.ptr + 1, end, betas.second);
  if (second.ec != std::errc() || second.ptr != end || !good(betas.first) ||
      !good(betas.second)) {
    return std::nullopt;
  }
  return betas;
}

/// Returns what `--betas` means: where it was not given, the optimizer's
/// default. Nothing if it is not two numbers in [0, 1).
inline std::optional<std::pair<double, double>>
betas(std::string_view optimizer, std::string_view given) {
  return parseBetas(!given.empty() ? given
                                   : optimizerOf(optimizer).default_betas);
}

/// Returns what `--eps` means: where it was not given, the optimizer's default.
inline double epsilon(std::string_view optimizer, double given) {
  return !std::isnan(given) ? given : optimizerOf(optimizer).default_eps;
}

/// Returns what `--weight-decay` means: where it was not given, the optimizer's
/// default.
inline double weightDecay(std::string_view optimizer, double given) {
  return !std::isnan(given) ? given
                            : optimizerOf(optimizer).default_weight_decay;
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
