//===- Groups.h - what `--group` means ------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_GROUPS_H
#define ZEROGRAPH_OPTIONS_GROUPS_H

#include "options/Options.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zerograph::options {

/// Parameters with hyperparameters of their own.
struct Group {
  std::string pattern; // a glob over whole names
  /// Numbers in place of the optimizer's, which may be illegal: see faultsOf.
  std::vector<std::pair<const Hyperparameter *, double>> numbers;
  std::string error; // what is wrong with the text; empty: nothing
};

namespace detail {

/// Returns the numbers that a group has under a name: one, for betas two. None
/// where there is no such name.
inline std::vector<const Hyperparameter *> numbersOf(std::string_view name) {
  std::vector<const Hyperparameter *> numbers;
  for (const Hyperparameter &one : kHyperparameters) {
    if (one.by_group && one.key == name) {
      numbers.push_back(&one);
    }
  }
  return numbers;
}

/// Returns "lr=, betas= or momentum=": all names.
inline std::string groupKeys() {
  std::vector<std::string> keys;
  for (const Hyperparameter &one : kHyperparameters) {
    if (one.by_group && &one == numbersOf(one.key).front()) {
      keys.push_back(std::string(one.key) + "=");
    }
  }
  return listed(keys, " or ");
}

/// Adds "lr=1e-4" to the group's numbers.
inline void readNumber(std::string_view text, Group &group) {
  size_t equals = std::min(text.find('='), text.size());
  std::string name(text.substr(0, equals));
  std::string_view value = text.substr(std::min(equals + 1, text.size()));
  auto wrong = [&](const std::string &expected) {
    group.error = "'" + std::string(text) + "': expected " + expected;
  };
  std::vector<const Hyperparameter *> numbers = numbersOf(name);
  if (numbers.empty()) {
    return wrong(groupKeys());
  }
  for (const auto &[other, ignored] : group.numbers) {
    if (other == numbers.front()) {
      group.error = name + " is given twice";
      return;
    }
  }
  if (numbers.size() == 2) {
    auto betas = parseBetas(value);
    if (!betas) {
      return wrong(name + "=B1,B2, two numbers");
    }
    group.numbers.emplace_back(numbers[0], betas->first);
    group.numbers.emplace_back(numbers[1], betas->second);
    return;
  }
  double number = 0;
  const char *end = value.data() + value.size();
  auto read = std::from_chars(value.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) {
    return wrong("a number");
  }
  group.numbers.emplace_back(numbers.front(), number);
}

} // namespace detail

/// "PATTERN:NAME=NUMBER,NAME=NUMBER". The pattern ends at the last colon; a
/// comma within `betas` has no name after it.
inline Group parseGroup(std::string_view text) {
  Group group;
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    group.error = "expected PATTERN:NAME=NUMBER,...";
    return group;
  }
  group.pattern = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 1);
  while (group.error.empty()) {
    size_t end = rest.find(',');
    while (end != std::string_view::npos &&
           rest.substr(end + 1, rest.find(',', end + 1) - end - 1).find('=') ==
               std::string_view::npos) {
      end = rest.find(',', end + 1);
    }
    detail::readNumber(rest.substr(0, end), group);
    if (end == std::string_view::npos) {
      break;
    }
    rest = rest.substr(end + 1);
  }
  return group;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_GROUPS_H
