//===- Suggest.cpp - which name was meant ---------------------------------===//

#include "frontend/Suggest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <numeric>

namespace zerograph::frontend {

namespace {

/// Fewest edits that turn `part` into some part of `text` (Sellers).
size_t distanceToPart(const std::string &part, const std::string &text) {
  std::vector<size_t> column(part.size() + 1);
  std::iota(column.begin(), column.end(), 0);
  size_t least = column.back();
  for (char letter : text) {
    size_t diagonal = column[0]; // stays 0: a part may begin anywhere
    for (size_t i = 1; i <= part.size(); ++i) {
      size_t substituted = diagonal + (part[i - 1] != letter);
      diagonal = column[i];
      column[i] = std::min({column[i] + 1, column[i - 1] + 1, substituted});
    }
    least = std::min(least, column.back());
  }
  return least;
}

} // namespace

std::string suggestFor(const std::string &pattern,
                       const std::vector<std::string> &names) {
  std::string literal;
  for (char letter : pattern) {
    if (letter != '*' && letter != '?') {
      literal += letter;
    }
  }
  // One edit in three letters is a slip; more is another name.
  size_t least = literal.size() / 3 + 1;
  const std::string *best = nullptr;
  for (const std::string &name : names) {
    size_t edits = distanceToPart(literal, name);
    if (edits < least) {
      least = edits;
      best = &name;
    }
  }
  if (best != nullptr) {
    return absl::StrCat("; did you mean '", *best, "'?");
  }
  if (names.empty()) {
    return "; there are none";
  }
  constexpr size_t kShown = 5;
  size_t shown = std::min(names.size(), kShown);
  std::string list = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (shown < names.size()) {
    absl::StrAppend(&list, " and ", names.size() - shown, " more");
  }
  return absl::StrCat("; there are ", list);
}

} // namespace zerograph::frontend
