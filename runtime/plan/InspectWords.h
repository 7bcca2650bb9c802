//===- InspectWords.h - words of a report, for people ---------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECTWORDS_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECTWORDS_H

#include "runtime/base/Text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace zerograph::words {

using Json = nlohmann::ordered_json;

inline std::string text(const Json &value) { return value.get<std::string>(); }
inline uint64_t number(const Json &value) { return value.get<uint64_t>(); }

inline std::string signedGrouped(int64_t value) {
  return absl::StrCat(value < 0 ? "-" : "+",
                      grouped(value < 0 ? -uint64_t(value) : uint64_t(value)));
}

/// "1 rank", "4 ranks".
inline std::string counted(const Json &value, const char *of) {
  uint64_t count = number(value);
  return absl::StrCat(count, " ", of,
                      count == 1                 ? ""
                      : absl::EndsWith(of, "ch") ? "es"
                                                 : "s");
}

inline std::string listed(const Json &values, const char *separator) {
  std::vector<std::string> parts;
  for (const Json &value : values) {
    parts.push_back(value.is_string() ? text(value) : value.dump());
  }
  return absl::StrJoin(parts, separator);
}

} // namespace zerograph::words

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECTWORDS_H
