//===- Processes.h - `train` by processes that a launcher started ---------===//

#ifndef ZEROGRAPH_TOOLS_CLI_PROCESSES_H
#define ZEROGRAPH_TOOLS_CLI_PROCESSES_H

#include "runtime/comm/NoCollectives.h"
#include "runtime/comm/mpi/MpiCommunicator.h"
#include "runtime/comm/tcp/TcpControlPlane.h"
#include "runtime/plan/PlanFile.h"
#include "tools/cli/TemporaryFolder.h"

#include <CLI/App.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace zerograph {

/// A plan to train with, and where it came from.
struct CompiledPlan {
  LoadedPlan plan;
  std::string path;  // its weight file lies beside it
  std::string model; // what it was compiled from just now; else empty
  std::optional<TemporaryFolder> folder; // of `path`, where there is one
  /// The options of the run that a configuration file gives, and their values.
  std::map<std::string, std::string> settings;
};

/// Makes the plan to train with.
struct PlanSource {
  /// Reads or compiles it; `ranks` is the number of processes that were
  /// started, where they are the ranks.
  std::function<absl::StatusOr<CompiledPlan>(std::optional<unsigned> ranks)>
      make;
  /// Returns the name of the plan's device, before the plan is made; empty
  /// where that cannot be told in this process.
  std::function<std::string()> device;
};

/// Return the plan in a file, and the device that it is for.
absl::StatusOr<CompiledPlan> readPlanToTrain(const std::string &path);
std::string deviceOfPlan(const std::string &path);

/// Returns the options and arguments that were given and that all ranks must
/// have been given: name -> values.
std::map<std::string, std::string> givenOptions(const CLI::App &command);

/// This process among those that were started with it, each of them a rank.
class Processes {
public:
  static absl::StatusOr<std::shared_ptr<Processes>>
  join(const Launch &launch, double deadline_seconds);

  ControlPlane &control() const;
  /// Returns the means by which ranks exchange what lies in the host's memory;
  /// without MPI one that refuses to.
  Collectives &collectives();
  const Peers &peers() const;

  /// Returns an error where the plan is for other ranks than these processes,
  /// or they cannot exchange what it has them exchange.
  absl::Status checkPlan(const plan::Plan &plan) const;

  /// Makes the plan on rank 0, and gives it to the others, with the weights
  /// that were written beside it and the settings. Rank 0's errors are
  /// everyone's.
  absl::StatusOr<CompiledPlan> share(const PlanSource &source);

  /// Returns the threads of a rank by default: its processors divided among the
  /// ranks that have the same ones.
  unsigned threads() const;

  /// Returns what this rank says of a failure: the rank before it, or nothing
  /// and the exit status where rank 0 says it for all.
  absl::StatusOr<int> explain(const absl::Status &status) const;

  /// Leaves the others, or after a failure ends all processes, as far as it
  /// can. The process does nothing after it.
  void end();

private:
  explicit Processes(Launch launch) : launch(std::move(launch)) {}
  absl::StatusOr<CompiledPlan> make(const PlanSource &source);
  absl::Status finish();
  /// Fill in `made` on the ranks after 0, which has it.
  absl::Status handOut(CompiledPlan &made);
  absl::Status handOutWeights(CompiledPlan &made);

  Launch launch;
  // Either of the two is there, until the end.
  std::unique_ptr<MpiCommunicator> mpi;
  std::unique_ptr<TcpControlPlane> tcp;
  std::optional<NoCollectives> none; // beside `tcp`
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_PROCESSES_H
