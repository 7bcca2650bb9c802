//===- OptionTable.h - the table of options as a command line -------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_OPTIONTABLE_H
#define ZEROGRAPH_TOOLS_CLI_OPTIONTABLE_H

#include "options/Losses.h"
#include "options/Memory.h"
#include "options/Options.h"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace zerograph {

/// Names what takes an option; `train` of a plan takes none of compile's.
enum OptionCommands : unsigned {
  kCompiles = 1,
  kTrains = 2,
  kRuns = 4,
  kExports = 8,
  kTrainer = 16, ///< that of the library, whose caller makes the steps
  kPlans = kCompiles | kTrains,
  kTraining = kTrains | kTrainer,
};

/// The texts that can be an option's value.
struct OptionCheck {
  CLI::Validator validator;
  bool needed = false;
  /// Tells whether several values may follow one name.
  bool several = false;
  /// Tells whether the texts are those of the row's VALUE.
  bool choice = false;
};

/// A rule of one option on others, the last columns of Options.def, where the
/// kinds and conditions are explained.
struct OptionRule {
  bool asks;  ///< for what the condition says; else it must not be so
  bool warns; ///< where the rule is broken; else that is an error
  const char *condition;
  const char *why; ///< "" where the names say it
};

/// A row of Options.def; its field and default are a member of options::Compile
/// or options::Train or options::Export.
struct OptionRow {
  const char *name;
  std::string value; // what stands for the value in the help; empty: a flag
  OptionCheck check;
  unsigned commands;
  const char *help;
  std::vector<OptionRule> rules;
};

/// Returns whether Fields, one of the structs of options, has an option of that
/// name, without dashes.
template <typename Fields>
constexpr bool isOption(std::string_view given) {
#define ZG_OPTION(Struct, type, field, value, name, ...)                       \
  if (std::is_base_of_v<options::Struct, Fields> && given == name) {           \
    return true;                                                               \
  }
#include "options/Options.def"
  return false;
}

/// Returns whether rules name only options that Fields has.
template <typename Fields>
constexpr bool areOptions(std::initializer_list<OptionRule> rules) {
  for (const OptionRule &rule : rules) {
    for (std::string_view rest = rule.condition; !rest.empty();) {
      size_t end = rest.find(" or ");
      std::string_view one = rest.substr(0, end);
      if (!isOption<Fields>(one.substr(0, one.find(' ')))) {
        return false;
      }
      rest.remove_prefix(end == one.npos ? rest.size() : end + 4);
    }
  }
  return true;
}

namespace checks {

inline const OptionCheck any, needed{{}, /*needed=*/true};
inline const OptionCheck files{{}, /*needed=*/true, /*several=*/true};
inline const OptionCheck moreFiles{{}, false, /*several=*/true};
/// Takes a name of the row's VALUE, in any case, as it stands there.
inline const OptionCheck choice{{}, false, false, /*choice=*/true};

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

inline const OptionCheck samples = text(
    [](const std::string &text) {
      int64_t number;
      return text == "auto" || (absl::SimpleAtoi(text, &number) &&
                                number >= 1 && number <= int64_t(1) << 40);
    },
    "number of samples: expected 1 to 2^40, or auto");

inline const OptionCheck recomputation = text(
    [](const std::string &text) {
      return text == "none" || text == "selective" || text == "units" ||
             text == "auto" || options::parseBytes(text) > 0;
    },
    "kind of recomputation: expected none, selective, units, auto, or bytes of "
    "the device, as 40GiB");

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

constexpr OptionRule needs(const char *condition, const char *why = "") {
  return {true, false, condition, why};
}
constexpr OptionRule noEffectWithout(const char *condition,
                                     const char *why = "") {
  return {true, true, condition, why};
}
constexpr OptionRule excludes(const char *condition, const char *why = "") {
  return {false, false, condition, why};
}
constexpr OptionRule noEffectWith(const char *condition, const char *why = "") {
  return {false, true, condition, why};
}

} // namespace checks

/// Calls visit(row, field) for each option of `fields`, which is or extends
/// options::Compile, options::Train or options::Export.
template <typename Fields, typename Visit>
void eachOption(Fields &fields, const Visit &visit) {
  using namespace checks;
#define ZG_OPTION(Struct, type, field, value, name, placeholder, check,        \
                  commands, takers, help, ...)                                 \
  if constexpr (std::is_base_of_v<options::Struct, Fields>) {                  \
    static_assert(areOptions<Fields>({__VA_ARGS__}),                           \
                  "--" name ": a rule names an option that there is not");     \
    visit(OptionRow{name, placeholder, check, commands, help, {__VA_ARGS__}},  \
          fields.field);                                                       \
  }
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

/// Returns a value as text: empty where there is none, or a flag is off.
template <typename T>
std::string valueText(const T &value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "on" : "";
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return absl::StrJoin(value, " ");
  } else if constexpr (requires { value.has_value(); }) {
    return value ? absl::StrCat(*value) : "";
  } else {
    return absl::StrCat(value);
  }
}

/// Returns a default as text; empty where there is none, or the help says it.
template <typename T>
std::string defaultText(const OptionRow &row, const T &value) {
  if (std::string text = options::defaultsText(row.name); !text.empty()) {
    return text;
  }
  bool said = std::string(row.help).find("default") != std::string::npos;
  return said ? "" : valueText(value);
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
      option->transform(
          row.check.choice
              ? checks::oneOf(absl::StrSplit(row.value, '|')).validator
              : row.check.validator);
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
