//===- OptionTable.h - the table of options as a command line -------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_OPTIONTABLE_H
#define ZEROGRAPH_TOOLS_CLI_OPTIONTABLE_H

#include "options/Memory.h"
#include "options/Options.h"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>

namespace zerograph {

/// Commands that take an option; `train` of a plan takes none of compile's.
enum OptionCommands : unsigned {
  kCompiles = 1,
  kTrains = 2,
  kRuns = 4,
  kExports = 8,
  kPlans = kCompiles | kTrains,
};

/// The texts that can be an option's value.
struct OptionCheck {
  CLI::Validator validator;
  bool needed = false;
  /// Tells whether several values may follow one name.
  bool several = false;
};

/// A row of Options.def; its field and default are a member of options::Compile
/// or options::Train or options::Export.
struct OptionRow {
  const char *name, *value;
  OptionCheck check;
  unsigned commands;
  const char *help;
};

/// Returns whether the option, without dashes, decides a run and no plan.
inline bool decidesRun(std::string_view option) {
#define ZG_TRAIN_OPTION(type, field, value, name, ...)                         \
  if (option == name) {                                                        \
    return true;                                                               \
  }
#include "options/Options.def"
  return false;
}

namespace checks {

inline const OptionCheck any, needed{{}, /*needed=*/true};
inline const OptionCheck files{{}, /*needed=*/true, /*several=*/true};
inline const OptionCheck moreFiles{{}, false, /*several=*/true};

template <typename A, typename B>
OptionCheck range(A low, B high) {
  using Number = std::common_type_t<A, B>;
  return {CLI::Range(Number(low), Number(high))};
}

/// Takes a name in any case, as the table has it.
inline OptionCheck oneOf(std::vector<std::string> names) {
  return {CLI::IsMember(std::move(names), CLI::ignore_case)};
}

template <typename Good>
OptionCheck text(Good good, const char *expected) {
  return {CLI::Validator(
      [=](const std::string &text) {
        return good(text) ? std::string() : text + " is no " + expected;
      },
      "")};
}

inline const OptionCheck memoryLimits = {CLI::Validator(
    [](const std::string &text) { return options::parseMemory(text, 1).error; },
    "")};

inline const OptionCheck ratio = text(
    [](const std::string &text) {
      double number;
      return absl::SimpleAtod(text, &number) && number >= 0 && number < 1;
    },
    "ratio of at least 0 and less than 1");

/// Holds for each option of type double: a NaN is neither below a range nor
/// above it.
inline const OptionCheck number = text(
    [](const std::string &text) {
      double number;
      return !absl::SimpleAtod(text, &number) || !std::isnan(number);
    },
    "number");

inline const OptionCheck positive = text(
    [](const std::string &text) {
      double number;
      return absl::SimpleAtod(text, &number) && number > 0;
    },
    "number above 0");

inline const OptionCheck notNegative = text(
    [](const std::string &text) {
      double number;
      return absl::SimpleAtod(text, &number) && number >= 0 &&
             std::isfinite(number);
    },
    "finite number that is not negative");

/// Refuses -1, which the option itself would take, and wrap around.
inline const OptionCheck wholeNumber = text(
    [](const std::string &text) {
      uint64_t number;
      return absl::SimpleAtoi(text, &number);
    },
    "whole number below 2^64");

} // namespace checks

/// Calls visit(row, field) for each option that decides a plan.
template <typename Visit>
void eachOption(options::Compile &fields, const Visit &visit) {
  using namespace checks;
#define ZG_COMPILE_OPTION(type, field, value, name, placeholder, check,        \
                          commands, help)                                      \
  visit(OptionRow{name, placeholder, check, commands, help}, fields.field);
#include "options/Options.def"
}

/// Calls it for each option that decides a run.
template <typename Visit>
void eachOption(options::Train &fields, const Visit &visit) {
  using namespace checks;
#define ZG_TRAIN_OPTION(type, field, value, name, placeholder, check,          \
                        commands, help)                                        \
  visit(OptionRow{name, placeholder, check, commands, help}, fields.field);
#include "options/Options.def"
}

/// Calls it for each that decides an export alone.
template <typename Visit>
void eachOption(options::Export &fields, const Visit &visit) {
  using namespace checks;
#define ZG_EXPORT_OPTION(type, field, value, name, placeholder, check,         \
                         commands, help)                                       \
  visit(OptionRow{name, placeholder, check, commands, help}, fields.field);
#include "options/Options.def"
}

/// Returns "-o,--output" for "o,output".
inline std::string dashed(const OptionRow &row) {
  std::string name = row.name;
  size_t comma = name.find(',');
  return comma == std::string::npos
             ? "--" + name
             : absl::StrCat("-", name.substr(0, comma), ",--",
                            name.substr(comma + 1));
}

/// Returns a default as text; empty where there is none, or the help says it.
template <typename T>
std::string defaultText(const OptionRow &row, const T &value) {
  if (std::string(row.help).find("default") != std::string::npos) {
    return "";
  }
  if constexpr (std::is_convertible_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    return absl::StrCat(value);
  } else {
    return "";
  }
}

/// Declares on `app` the options of `fields` that `command` takes. `fields`
/// must outlive the parse.
template <typename Fields>
void addOptions(CLI::App &app, OptionCommands command, Fields &fields) {
  eachOption(fields, [&](const OptionRow &row, auto &field) {
    using T = std::decay_t<decltype(field)>;
    if ((row.commands & command) == 0) {
      return;
    }
    std::string help = row.help, value = defaultText(row, field);
    if (!value.empty()) {
      absl::StrAppend(&help, " (", value, ")");
    }
    if constexpr (std::is_same_v<T, bool>) {
      app.add_flag(dashed(row), field, help);
    } else {
      CLI::Option *option = app.add_option(dashed(row), field, help);
      option->type_name(row.value)->required(row.check.needed);
      option->transform(row.check.validator);
      if constexpr (std::is_same_v<T, double> ||
                    std::is_same_v<T, std::optional<double>>) {
        option->check(checks::number.validator);
      }
      if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        option->allow_extra_args(row.check.several);
      }
    }
  });
}

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_OPTIONTABLE_H
