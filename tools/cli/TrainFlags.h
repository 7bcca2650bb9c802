//===- TrainFlags.h - the options of train --------------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H

#include "absl/status/statusor.h"
#include "runtime/exec/Train.h"

#include <CLI/App.hpp>

namespace zerograph {

/// Declares train's options on a command and runs a plan with them.
class TrainFlags {
public:
  explicit TrainFlags(CLI::App &command);

  bool dumpsGradients() const { return !options.dump_gradients.empty(); }
  const std::string &data() const { return options.data; }

  /// `model`: what the plan was compiled from just now; else empty.
  /// Trains and reports on standard output: each step's loss as it ends (not
  /// on a terminal, where the progress line has it), then memory and traffic,
  /// predicted and measured. Gives the exit status: 0, or 128 and the number of
  /// the signal that ended the run early, as shells count.
  absl::StatusOr<int> run(const LoadedPlan &plan, const std::string &plan_path,
                          const std::string &model = "");

private:
  absl::Status parse();

  CLI::App &command;
  TrainOptions options;
  std::string init_missing;
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H
