//===- RankRun.h - one rank's part of a training run ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H

#include "runtime/exec/RankCheckpoints.h"
#include "runtime/exec/SaveFile.h"
#include "runtime/exec/Session.h"
#include "runtime/exec/Trainer.h"

namespace zerograph {

/// One rank, a thread or a process, from meeting the others to its saved
/// weights. The caller keeps it until all ranks have returned from `run`: they
/// read each other's memory.
class RankRun {
public:
  /// All arguments outlive it. `session` is that of the rank's process.
  RankRun(Session &session, const Machine &machine, Collectives &collectives,
          ControlPlane &control)
      : session(session), machine(machine), collectives(collectives),
        control(control), checkpoints(session, control) {}

  /// Does the whole run. Returns the result of all ranks on rank 0, an empty
  /// one on the others. What is wrong before anything is allocated is one
  /// error, as `agree` gives it; any other error ends the other ranks too.
  absl::StatusOr<TrainResult> run();

  /// Ends all ranks, this one having no thread to run on.
  void abort(const absl::Status &status);

private:
  /// Opens what ranks exchange by, together with them.
  absl::Status meet();
  absl::Status trainAndSave();
  absl::Status prepare();
  absl::Status trainSteps();
  absl::StatusOr<StepResult> trainStep(uint64_t step);
  /// Collects adapters into `session.merged`, on every rank.
  absl::Status collectAdapters();
  absl::Status writeFile(const SaveRequest &request,
                         std::unique_ptr<SafetensorsWriter> &writer);
  absl::Status lookAtArenas();
  absl::StatusOr<TrainResult> collectResults();
  absl::StatusOr<EvalRecord> evaluate(uint64_t step);
  void recordStep(const StepRecord &record);
  /// Warns of what went wrong with a file beside the run, which goes on without
  /// it.
  template <typename File>
  void goOn(const absl::Status &written, std::unique_ptr<File> &file) {
    if (!written.ok()) {
      session.warn(absl::StrCat(written.message(),
                                "; the run goes on and writes no more of it"));
      file.reset();
    }
  }
  void warnOfLoss(const StepRecord &record);
  /// Looks at the weights that are kept for what is not finite.
  absl::Status lookAtWeights();
  void noteStop(uint64_t step);
  /// Returns what this rank has received since `before`.
  TrafficCount receivedSince(const TrafficCount &before) const;
  /// Says how many steps updated nothing, if any.
  void saySkipped() const;
  unsigned rank() const { return control.rank(); }

  Session &session;
  const Machine &machine;
  Collectives &collectives;
  ControlPlane &control;
  std::unique_ptr<Trainer> trainer;
  RankCheckpoints checkpoints; // of the trainer's memory
  LocalTopology neighbours;
  /// The bytes of a GPU in use when what ranks exchange by was open.
  std::optional<uint64_t> in_use_open;
  exec::RankReport report; ///< of this rank
  TrainResult result;      ///< rank 0's
  bool warned_of_loss = false;
  uint64_t skipped = 0; ///< updates
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
