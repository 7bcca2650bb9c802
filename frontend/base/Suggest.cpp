//===- Suggest.cpp - which name was meant ---------------------------------===//

#include "frontend/base/Suggest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/EditDistance.h"

#include <algorithm>

namespace zerograph::frontend {

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
    size_t edits = editDistance(literal, name, Match::part);
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
