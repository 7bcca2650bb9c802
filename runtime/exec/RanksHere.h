//===- RanksHere.h - the ranks of this process ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKSHERE_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKSHERE_H

#include "runtime/exec/Machine.h"
#include "runtime/exec/RankRun.h"
#include "runtime/exec/RankThreads.h"
#include "runtime/exec/Session.h"

#include "absl/functional/function_ref.h"

namespace zerograph {

/// The ranks that are threads of this process, or the one that is this process,
/// with all that they run on: the processor; one GPU that all share; or a GPU
/// each, by NCCL.
class RanksHere {
public:
  /// Opens all ranks of a plan, which outlives them, as threads. Verifies the
  /// plan and checks that this machine can run it.
  static absl::StatusOr<std::unique_ptr<RanksHere>>
  open(const LoadedPlan &loaded, const TrainOptions &options);
  /// Opens the one rank of this process; the processes of the others call it
  /// too. All arguments outlive it. An error is one that `agree` gives.
  static absl::StatusOr<std::unique_ptr<RanksHere>>
  openAsRank(const LoadedPlan &loaded, const TrainOptions &options,
             Collectives &collectives, ControlPlane &control);

  Session &session() { return *shared; }
  size_t size() const { return ranks.size(); }
  RankRun &operator[](size_t i) { return *ranks[i]; }

  /// Calls `work` with each rank, the first on this thread and the others on
  /// their own, and returns the failure that ended the others, or OK. A rank
  /// that fails must end the others.
  absl::Status forEach(absl::FunctionRef<absl::Status(size_t i)> work);

private:
  RanksHere() = default;
  absl::Status openGpus();
  void addRank(size_t machine, Collectives &collectives, ControlPlane &control);

  // Members that come first outlive the others.
  std::vector<Machine> machines; ///< one for all ranks, or one a rank
  std::unique_ptr<Session> shared;
  /// The controls of threads. One that goes is a rank that has ended.
  std::vector<std::unique_ptr<HostCommunicator>> controls;
  /// The collectives between GPUs; empty on the processor.
  std::vector<std::unique_ptr<Collectives>> between_gpus;
  std::vector<std::unique_ptr<RankRun>> ranks;
  std::unique_ptr<RankThreads> threads;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKSHERE_H
