//===- Text.h - numbers and names for people ------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_TEXT_H
#define ZEROGRAPH_RUNTIME_BASE_TEXT_H

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace zerograph {

/// "1,234,567".
inline std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

/// "1 rank", "8 ranks", "1,024 ranks".
inline std::string counted(uint64_t count, const char *of,
                           const char *many = "s") {
  return absl::StrCat(grouped(count), " ", of, count == 1 ? "" : many);
}

/// "a, b, c and 4 more": the first few of many names.
inline std::string listOf(const std::vector<std::string> &names,
                          size_t most = 3) {
  size_t shown = names.size() <= most + 1 ? names.size() : most;
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (shown < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  }
  return text;
}

/// "a\n  b\n  c\n  and 4 more": the lines of an error that lists problems.
inline std::string linesOf(const std::vector<std::string> &problems,
                           size_t most = 10) {
  size_t shown = std::min(problems.size(), most);
  std::string text =
      absl::StrJoin(problems.begin(), problems.begin() + shown, "\n  ");
  if (shown < problems.size()) {
    absl::StrAppend(&text, "\n  and ", problems.size() - shown, " more");
  }
  return text;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_TEXT_H
