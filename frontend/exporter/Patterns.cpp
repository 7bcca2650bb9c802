//===- Patterns.cpp - the patterns of --train, --freeze, --lora -----------===//

#include "frontend/exporter/Patterns.h"

#include "frontend/base/Suggest.h"

#include "absl/strings/str_cat.h"

#include <fnmatch.h>

namespace zerograph::frontend {

const std::string *Patterns::match(const std::string &name) {
  const std::string *found = nullptr;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (fnmatch(patterns[i].c_str(), name.c_str(), 0) == 0) {
      used[i] = true;
      if (found == nullptr) {
        found = &patterns[i];
        first[i] = true;
      }
    }
  }
  return found;
}

void Patterns::addLate(std::vector<std::string> &problems) const {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (used[i] && !first[i]) {
      problems.push_back(absl::StrCat(
          option, " ", patterns[i], ": each ", of,
          " with a name that matches is matched by an earlier ", option,
          ", which counts: leave one out, or give it behind this one"));
    }
  }
}

void Patterns::addUnused(const std::vector<std::string> &names,
                         std::vector<std::string> &problems) const {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!used[i]) {
      problems.push_back(absl::StrCat(option, " ", patterns[i], ": no ", of,
                                      " has a name that matches",
                                      suggestFor(patterns[i], names)));
    }
  }
}

} // namespace zerograph::frontend
