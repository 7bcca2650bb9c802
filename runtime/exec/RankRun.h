//===- RankRun.h - one rank's part of a training run ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H

#include "runtime/exec/RankCheckpoints.h"
#include "runtime/exec/SaveFile.h"
#include "runtime/exec/Session.h"
#include "runtime/exec/Trainer.h"
#include "runtime/state/GivenStates.h"

#include <chrono>

namespace zerograph {

/// One rank, a thread or a process, from meeting the others to its saved
/// weights. The caller keeps it until all ranks have returned from `run` or
/// `end`: they read each other's memory. Every rank makes the same calls.
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

  /// Does what comes before the first step.
  absl::Status open();
  /// Do the two parts of the next step, as those of Trainer, with the log, the
  /// evaluation and the checkpoint that belong to it.
  absl::Status accumulate(const Batch &batch, const Batch *next = nullptr);
  absl::StatusOr<StepResult> update();
  /// Do what a live run may do between steps: an evaluation; a checkpoint in
  /// the session's folder, until it is there; a file of what all ranks hold.
  absl::StatusOr<EvaluatedSum> evaluate(const Evaluation &evaluation) {
    return evaluation.run(*trainer, rank());
  }
  /// Gives what all ranks hold to `sink`, in every process.
  absl::Status gather(const WeightFileOptions &options, const WeightSink &sink);
  /// Lets checkpoints be written, unless they can be already.
  absl::Status openCheckpoints();
  /// Writes one after the steps that were made; unless there is one.
  absl::Status saveCheckpoint();
  absl::Status save(SavedFile &file);
  /// Replaces what this rank holds of parameters or optimizer states.
  absl::Status write(const GivenStates &given);
  /// Returns an error unless the batches of all processes are of one plan.
  absl::Status comparePlan(std::optional<size_t> number) {
    return comparePlans(control, number);
  }
  /// Returns an error unless the arrays of all processes have one digest.
  absl::Status compare(const std::string &digest) {
    return compareArrays(control, digest);
  }
  /// Returns an error, as `agree` gives it, where any rank has one.
  absl::Status agreeOn(const std::string &what, const absl::Status &own) {
    return agree(control, what, own);
  }
  /// Waits until the last checkpoint is there. After it the session's folder
  /// may be another one.
  absl::Status finishCheckpoints() { return checkpoints.finish(report); }
  /// Returns whether the last checkpoint is of this step, without what was
  /// written since.
  bool checkpointIsOutdated() const {
    return checkpoints.isOutdated(trainer->position().steps);
  }
  /// Returns rank 0's checkpoints.
  const CheckpointTimes &checkpointTimes() const { return checkpoints.times(); }
  /// Ends a live run after its last step.
  absl::Status end();

  /// Returns what trains; null before `open`.
  Trainer *training() { return trainer.get(); }
  /// Ends all ranks: this one failed, or has no thread to run on.
  void abort(const absl::Status &status);

private:
  /// Opens what ranks exchange by, together with them.
  absl::Status meet();
  absl::Status checkRoom() const;
  absl::Status trainAndSave();
  absl::Status prepare();
  absl::Status trainSteps();
  absl::StatusOr<StepResult> updateAndDump(uint64_t step);
  /// Collects adapters into `session.merged`, on every rank.
  absl::Status collectAdapters();
  absl::Status writeFile(const SaveRequest &request,
                         std::unique_ptr<SafetensorsWriter> &writer);
  absl::Status lookAtArenas();
  absl::StatusOr<TrainResult> collectResults();
  absl::StatusOr<EvalRecord> evaluateAfter(uint64_t step);
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
  /// The beginning of the step that runs, and what was received before it.
  std::chrono::steady_clock::time_point step_begin;
  TrafficCount received_before;
  exec::RankReport report; ///< of this rank
  TrainResult result;      ///< rank 0's
  bool warned_of_loss = false;
  /// Tells whether a live run ends with a checkpoint, as one that was given a
  /// folder for them does.
  bool checkpoints_at_end = false;
  uint64_t skipped = 0; ///< updates
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
