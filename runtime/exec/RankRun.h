//===- RankRun.h - one rank's part of a training run ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H

#include "runtime/exec/RankCheckpoints.h"
#include "runtime/exec/SaveFile.h"
#include "runtime/exec/Session.h"
#include "runtime/exec/Trainer.h"

namespace zerograph {

/// One rank from its arenas to its saved weights. The caller keeps it until
/// all ranks have returned from `run`: they read each other's memory.
class RankRun {
public:
  /// All arguments outlive it. `machine` is the rank's, the session's or
  /// another.
  RankRun(Session &session, const Machine &machine, Collectives &collectives,
          ControlPlane &control)
      : session(session), machine(machine), collectives(collectives),
        control(control), checkpoints(session, control) {}

  /// Does the whole run. After an error all other ranks end too.
  absl::Status run();

  /// Ends all ranks, this one having no thread to run on.
  void abort(const absl::Status &status);

  const RankResult &result() const { return rank_result; }
  StepTimes times() const { return trainer->times(); }
  /// Returns when all ranks were ready, by the clock of `times`.
  int64_t ready() const { return ready_at; }

private:
  absl::Status prepare();
  absl::Status trainSteps();
  absl::StatusOr<StepResult> trainStep(uint64_t step);
  /// Collects adapters into `session.merged`, on every rank.
  absl::Status collectAdapters();
  absl::Status writeFile(const SaveRequest &request,
                         std::unique_ptr<SafetensorsWriter> &writer);
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
  RankResult rank_result;
  int64_t ready_at = 0;
  bool warned_of_loss = false;
  uint64_t skipped = 0; ///< updates
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
