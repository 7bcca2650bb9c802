//===- RankCheckpoints.h - when a rank writes checkpoints -----------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKCHECKPOINTS_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKCHECKPOINTS_H

#include "runtime/checkpoint/Writer.h"
#include "runtime/exec/RankReport.h"
#include "runtime/exec/Session.h"
#include "runtime/exec/Trainer.h"

#include "absl/functional/function_ref.h"

namespace zerograph {

/// One rank's checkpoints in a run, which may have none. Every rank makes the
/// same calls.
class RankCheckpoints {
public:
  /// Both arguments outlive it.
  RankCheckpoints(Session &session, ControlPlane &control)
      : session(session), control(control) {}

  /// Allocates what copies need; called before the first step, or after
  /// `finish` for another folder, when so many steps were made.
  absl::Status open(const RankMemory &memory, uint64_t steps);
  /// Returns whether some can be written.
  bool areOpen() const { return writer != nullptr; }

  /// Copies what a checkpoint needs, where one is due; called after each step.
  /// `last` says that no step follows. Waits for the one before it, where that
  /// is still being written, and says so once. An error of that one is one of
  /// the run.
  absl::Status afterStep(const Trainer &trainer, bool last);

  /// Waits until the last one is published.
  absl::Status publish();
  /// Does the same at the end of the run, or before the folder becomes another
  /// one, and writes no more.
  absl::Status finish(exec::RankReport &report);

  /// Notes that states were written, after so many steps.
  void noteWritten(uint64_t steps) {
    written = steps;
    is_current = false;
  }
  /// Returns whether the folder has a checkpoint after so many steps that may
  /// be from before that.
  bool isOutdated(uint64_t steps) const {
    return newest == steps && !is_current;
  }

  /// Returns rank 0's times.
  const CheckpointTimes &times() const { return checkpoint_times; }

private:
  absl::Status whileBusy(absl::FunctionRef<absl::Status()> what);
  absl::Status wait();
  bool isDue(uint64_t steps, bool last) const;

  Session &session;
  ControlPlane &control;
  std::unique_ptr<CheckpointWriter> writer; // or null
  std::optional<uint64_t> saved;   // steps of the one that is being written
  std::optional<uint64_t> newest;  // steps of the last one
  std::optional<uint64_t> written; // steps when states were written last
  bool is_current = true;          // the last one has the states that are there
  CheckpointTimes checkpoint_times;
  bool said_waiting = false;
  /// Returns whether another rank has failed.
  std::function<absl::Status()> given_up = [this] { return control.failure(); };
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKCHECKPOINTS_H
