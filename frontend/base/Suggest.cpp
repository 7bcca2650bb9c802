//===- Suggest.cpp - which name was meant ---------------------------------===//

#include "frontend/base/Suggest.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/EditDistance.h"
#include "runtime/base/Text.h"

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
  return absl::StrCat("; there are ", listOf(names, 5));
}

} // namespace zerograph::frontend
