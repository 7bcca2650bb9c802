//===- Suggest.cpp - names in messages ------------------------------------===//

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
  const std::string *best = nearest(literal, names);
  if (best != nullptr) {
    return absl::StrCat("; did you mean '", *best, "'?");
  }
  if (names.empty()) {
    return "; there are none";
  }
  return absl::StrCat("; there are ", listOf(names, 5));
}

} // namespace zerograph::frontend
