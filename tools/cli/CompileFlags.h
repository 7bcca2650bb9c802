//===- CompileFlags.h - the options of compile ----------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_COMPILEFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_COMPILEFLAGS_H

#include "absl/status/status.h"
#include "tools/cli/ConfigFile.h"
#include "tools/cli/OptionTable.h"
#include "tools/compiler/Compile.h"

#include <CLI/App.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// Reads `options.dim` and `options.input`, texts NAME=SIZE and NAME=VALUE,
/// into `dims` and `inputs`, and the number of `micro_batch` into `samples`.
absl::Status bindNames(CompileOptions &options);

/// Returns the device of a --target: "host" of "host:native".
inline std::string deviceOf(const std::string &target) {
  return target.substr(0, target.find(':'));
}

/// Declares compile's options on a command (`compile`, and `train` of a
/// model), and turns what was given into CompileOptions.
class CompileFlags {
public:
  CompileFlags(CLI::App &command, OptionCommands as);

  /// The compile options that were given, as "--zero, --ranks"; a plan takes
  /// none.
  std::string given() const;

  /// Returns whether an option, as "--zero", was given, or the file of --config
  /// says it; false where the command does not take it.
  bool isGiven(const std::string &option) const;

  /// Returns the device that a plan is for: "host", "cuda".
  std::string device() const { return deviceOf(options.target); }

  /// Gives the options what the file of --config says of `model`, where there
  /// is one, and says on standard error what should be known of it. `processes`
  /// is how many ranks were started. Called before `resolve`.
  absl::Status readConfig(const std::string &model,
                          std::optional<unsigned> processes);

  /// Returns the options of the run that the file gives, and their values.
  std::map<std::string, std::string> runSettings() const;

  /// Gives the options what the file at `path` says; `resolve` names its keys.
  absl::StatusOr<ConfigFile> takeConfig(const std::string &path,
                                        const config::Known &known);

  /// Checks the options against each other; `model` and the dims that data
  /// decides are the caller's. Says on standard error which have no effect.
  /// `steps` is the length of the run, where it is known: schedules end there
  /// unless --total-steps says otherwise.
  absl::StatusOr<CompileOptions>
  resolve(std::optional<uint64_t> steps = std::nullopt);

  /// Sets as many ranks as processes were started; an error where --ranks says
  /// otherwise.
  absl::Status setRanks(CompileOptions &options, unsigned processes) const;

  /// Returns whether a plan of these options keeps something in files, for
  /// which a run needs a folder. False where only the plan itself knows.
  bool needsFolder() const;
  /// Returns an error where a run of these options needs a folder and has none.
  absl::Status checkFolder(const std::string &folder) const;

private:
  absl::Status withKeys(const absl::Status &status) const;
  absl::StatusOr<CompileOptions> check(std::optional<uint64_t> steps);
  absl::Status checkLora() const;

  CLI::App &command;
  CLI::Option_group *group;
  CompileOptions options;
  std::vector<config::Setting> from_file; ///< settings of readConfig
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_COMPILEFLAGS_H
