//===- OptionRules.cpp - what must hold between options -------------------===//

#include "tools/cli/OptionRules.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "tools/cli/Notes.h"

#include <algorithm>

namespace zerograph {
namespace {

/// Returns "--zero 3"; a flag has no value.
std::string shown(const OptionState &option) {
  return absl::StrCat("--", option.row.name,
                      option.isFlag() ? "" : " " + option.value);
}

/// Returns whether a value is one of "cross_entropy|nll", or begins as "cuda:*"
/// does.
bool isOneOf(absl::string_view value, absl::string_view values) {
  std::vector<absl::string_view> all = absl::StrSplit(values, '|');
  return std::any_of(all.begin(), all.end(), [&](absl::string_view one) {
    return absl::ConsumeSuffix(&one, "*") ? absl::StartsWith(value, one)
                                          : value == one;
  });
}

/// Returns how the option breaks the rule, given all options; empty: it does
/// not.
std::string problemOf(const OptionState &option, const OptionRule &rule,
                      const std::vector<OptionState> &options) {
  std::vector<std::string> asked, found, fitting;
  for (absl::string_view one : absl::StrSplit(rule.condition, " or ")) {
    std::pair<std::string, std::string> parts =
        absl::StrSplit(one, absl::MaxSplits(' ', 1));
    const auto &[name, values] = parts;
    const OptionState &other = *std::find_if(
        options.begin(), options.end(),
        [&](const OptionState &state) { return state.row.name == name; });
    // A default may be what is asked for, but does not stand in the way.
    bool fits = values.empty() ? other.isSet()
                               : isOneOf(other.value, values) &&
                                     (rule.asks || other.given);
    asked.push_back(absl::StrCat("--", one));
    if (fits) {
      fitting.push_back(shown(other));
    } else if (other.given && !other.value.empty()) {
      found.push_back(absl::StrCat("--", name, " is ", other.value));
    }
  }
  if (fitting.empty() != rule.asks) {
    return "";
  }
  std::string text = shown(option);
  if (rule.asks) {
    absl::StrAppend(&text, rule.warns ? " has no effect without " : " needs ",
                    absl::StrJoin(asked, " or "),
                    found.empty() ? ", which is not given" : ", and ",
                    absl::StrJoin(found, ", "));
  } else {
    absl::StrAppend(&text, rule.warns ? " has no effect with " : " excludes ",
                    absl::StrJoin(fitting, ", "));
  }
  return absl::StrCat(text, *rule.why == '\0' ? "" : ": ", rule.why,
                      rule.asks || rule.warns ? "" : "; give one of them");
}

} // namespace

absl::StatusOr<std::set<std::string>>
checkRules(const std::vector<OptionState> &options) {
  std::vector<std::string> errors;
  std::set<std::string> without_effect;
  for (const OptionState &option : options) {
    bool chosen = option.given && (option.isSet() || !option.isChoice());
    for (const OptionRule &rule : option.row.rules) {
      std::string problem = chosen ? problemOf(option, rule, options) : "";
      if (!problem.empty() && rule.warns) {
        warn(problem);
        without_effect.insert(option.row.name);
      } else if (!problem.empty()) {
        errors.push_back(std::move(problem));
      }
    }
  }
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n  "));
  }
  return without_effect;
}

} // namespace zerograph
