//===- OptionRules.h - what must hold between options ---------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_OPTIONRULES_H
#define ZEROGRAPH_TOOLS_CLI_OPTIONRULES_H

#include "absl/status/statusor.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/OptionTable.h"

#include <set>
#include <string>
#include <vector>

namespace zerograph {

/// An option of a command, as rules see it.
struct OptionState {
  OptionRow row;
  std::string value, by_default; ///< as texts
  bool given = false; ///< by the command line or the file of --config

  bool isFlag() const { return row.value.empty(); }
  bool isChoice() const { return isFlag() || row.check.choice; }
  bool isSet() const { return value != by_default; }
};

/// Checks the rules of all options. Returns the names of those that have no
/// effect, of which it warns; or one error that names all contradictions.
absl::StatusOr<std::set<std::string>>
checkRules(const std::vector<OptionState> &options);

/// Does so for the options of `command`, whose values are in `fields`:
/// options::Compile, options::Train or options::Export.
template <typename Fields>
absl::StatusOr<std::set<std::string>> checkRules(CLI::App &command,
                                                 const Fields &fields) {
  std::vector<OptionState> options;
  eachOption(fields, [&](const OptionRow &row, const auto &field) {
    const CLI::Option *option = optionNamed(command, row.name);
    bool given = option != nullptr && option->count() > 0;
    options.push_back({row, valueText(field), "", given});
  });
  const Fields defaults{};
  size_t next = 0;
  eachOption(defaults, [&](const OptionRow &, const auto &field) {
    options[next++].by_default = valueText(field);
  });
  return checkRules(options);
}

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_OPTIONRULES_H
