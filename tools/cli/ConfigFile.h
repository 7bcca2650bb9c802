//===- ConfigFile.h - options from a configuration file -------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_CONFIGFILE_H
#define ZEROGRAPH_TOOLS_CLI_CONFIGFILE_H

#include "absl/status/statusor.h"
#include "config/Translation.h"
#include "config/Write.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/OptionTable.h"

#include <CLI/App.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// The contents of the file of `--config`, and what became of them.
struct ConfigFile {
  config::Config config;
  /// Says for each of config.settings why the option does not take it; or is
  /// empty.
  std::vector<std::string> refused;
  /// Says for each what the command line gives the option instead; or is empty.
  std::vector<std::string> overruled;
  /// Texts of all that is wrong, and of all that should be said.
  std::vector<std::string> problems, notes;
};

/// Says on standard error what should be known of a file that was written.
void sayOf(const config::Written &file);

/// Returns what a command line says of the batch, for `config::read`.
/// `processes` is how many ranks a launcher started.
config::Known knownOf(const CLI::App &command,
                      std::optional<unsigned> processes);

/// Reads `path` and gives the options of `command`, which has been parsed, what
/// the file says, as if it stood on the command line; an option that does stand
/// there wins. An error where the file cannot be read.
absl::StatusOr<ConfigFile> applyConfig(CLI::App &command,
                                       const std::string &path,
                                       const config::Known &known);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_CONFIGFILE_H
