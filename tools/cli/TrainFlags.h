//===- TrainFlags.h - the options of train --------------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H

#include "absl/status/statusor.h"
#include "runtime/exec/Train.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/OptionTable.h"
#include "tools/cli/Processes.h"

#include <CLI/App.hpp>

namespace zerograph {

/// Declares train's options on a command, or those of the library's trainer,
/// and runs a plan with them.
class TrainFlags {
public:
  explicit TrainFlags(CLI::App &command, OptionCommands as = kTrains);

  bool dumpsGradients() const { return !given.dump_gradients.empty(); }
  bool evaluates() const { return !given.eval_data.empty(); }
  std::vector<std::string> &data() { return given.data; }
  /// Returns the folder, which may come from the file of --config, once that is
  /// read.
  const std::string &nvmePath() const { return given.nvme_path; }
  /// Returns the steps, if they are known before the data is.
  std::optional<uint64_t> steps() const { return given.steps; }
  /// Returns the epochs to train if there are no steps().
  uint64_t epochs() const { return given.epochs.value_or(1); }

  /// Trains with what `source` gives and reports on standard output: progress
  /// (Progress.h), then memory and traffic, predicted and measured. Where a
  /// launcher started this process, it is one rank; rank 0 alone makes the
  /// plan, and speaks. Returns the exit status: 0, or 128 and the number of the
  /// signal that ended the run early, as shells count.
  absl::StatusOr<int> run(CommandLine &line, const PlanSource &source);

  /// Returns the options of a run with a plan whose steps the caller makes.
  absl::StatusOr<TrainOptions> ofLiveRun(const CompiledPlan &made);

private:
  absl::Status parse();
  absl::StatusOr<int> runHere(const CompiledPlan &made);
  absl::StatusOr<int> runAsRank(Processes &processes, const PlanSource &source);
  absl::Status prepare(const CompiledPlan &made);
  void sayBeginning(const RunBegin &run) const;
  bool keepsWeights() const;
  absl::StatusOr<int> tell(const plan::Plan &plan,
                           const TrainResult &result) const;

  CLI::App &command;
  options::Train given;
  TrainOptions options; ///< made of `given`, once parsed
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_TRAINFLAGS_H
