//===- LaunchVariables.h - reading what launchers say ---------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_LAUNCHVARIABLES_H
#define ZEROGRAPH_RUNTIME_COMM_LAUNCHVARIABLES_H

#include "runtime/comm/Launch.h"

#include "absl/strings/numbers.h"

namespace zerograph {

/// Reads variables. One that is set and makes no sense is an error.
class LaunchVariables {
public:
  explicit LaunchVariables(const Variables &get) : get(get) {}

  bool has(const char *name) const { return !text(name).empty(); }

  /// Returns the text; nothing for one that is not set, as for an empty one.
  std::string text(const char *name) const {
    const char *value = get(name);
    return value ? value : "";
  }

  absl::StatusOr<std::optional<unsigned>>
  number(const char *name, unsigned least = 0,
         unsigned most = kMostRanks) const {
    std::string value = text(name);
    if (value.empty()) {
      return std::nullopt;
    }
    uint64_t result = 0;
    if (!absl::SimpleAtoi(value, &result) || result < least || result > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("the variable ", name, " is '", value,
                       "', expected a number from ", least, " to ", most));
    }
    return unsigned(result);
  }

private:
  static constexpr unsigned kMostRanks = 1 << 20;

  const Variables &get;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_LAUNCHVARIABLES_H
