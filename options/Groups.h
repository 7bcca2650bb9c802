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
  /// Instead of the optimizer's: lr, weight_decay, momentum, eps, beta1, beta2.
  std::vector<std::pair<std::string, double>> numbers;
  std::string error; // what is wrong with the text; empty: nothing
};

namespace detail {

/// "lr=1e-4" as a number of the group.
inline void readNumber(std::string_view text, Group &group) {
  size_t equals = std::min(text.find('='), text.size());
  std::string name(text.substr(0, equals));
  std::string_view value = text.substr(std::min(equals + 1, text.size()));
  auto wrong = [&](const char *expected) {
    group.error = "'" + std::string(text) + "': expected " + expected;
  };
  std::string first = name == "betas" ? "beta1" : name;
  for (const auto &[other, ignored] : group.numbers) {
    if (other == first) {
      group.error = name + " is given twice";
      return;
    }
  }
  if (name == "betas") {
    if (auto betas = parseBetas(value)) {
      group.numbers.emplace_back("beta1", betas->first);
      group.numbers.emplace_back("beta2", betas->second);
    } else {
      wrong("betas=B1,B2 in [0, 1)");
    }
    return;
  }
  double number = 0;
  const char *end = value.data() + value.size();
  auto read = std::from_chars(value.data(), end, number);
  if (name != "lr" && name != "weight_decay" && name != "momentum" &&
      name != "eps") {
    wrong("lr=, weight_decay=, betas=, eps= or momentum=");
  } else if (read.ec != std::errc() || read.ptr != end || value.empty() ||
             !(number >= 0 && std::isfinite(number))) {
    wrong("a finite number that is not negative");
  } else {
    group.numbers.emplace_back(std::move(name), number);
  }
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
