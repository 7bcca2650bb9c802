//===- TrainFlags.h - the options of train --------------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H

#include "absl/status/status.h"
#include "runtime/exec/Train.h"

#include <CLI/App.hpp>

namespace zerograph {

/// Declares train's options on a command and runs a plan with them.
class TrainFlags {
public:
  explicit TrainFlags(CLI::App &command);

  bool dumpsGradients() const { return !options.dump_gradients.empty(); }
  const std::string &data() const { return options.data; }

  /// Trains and reports: losses on standard output, then memory and traffic,
  /// predicted and measured.
  absl::Status run(const LoadedPlan &plan, const std::string &plan_path);

private:
  absl::Status parse();

  CLI::App &command;
  TrainOptions options;
  std::string init_missing;
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H
