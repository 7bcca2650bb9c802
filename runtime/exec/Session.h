//===- Session.h - what the ranks of a training run share -----------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_SESSION_H
#define ZEROGRAPH_RUNTIME_EXEC_SESSION_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Resume.h"
#include "runtime/exec/Evaluation.h"
#include "runtime/exec/EventFile.h"
#include "runtime/exec/LossScaler.h"
#include "runtime/exec/Progress.h"
#include "runtime/exec/SampleOrder.h"
#include "runtime/exec/SaveFile.h"
#include "runtime/exec/StopSignal.h"
#include "runtime/exec/Trace.h"
#include "runtime/exec/Train.h"
#include "runtime/exec/TrainLog.h"
#include "runtime/exec/TrainingPrograms.h"
#include "runtime/plan/Mesh.h"
#include "runtime/state/Initialize.h"

#include <map>
#include <mutex>

namespace zerograph {

/// A file that the run saves. Process 0 has its writer.
struct SavedFile {
  SaveRequest request;
  std::unique_ptr<SafetensorsWriter> writer;
};

/// Everything that a process opens and checks before its ranks begin; they
/// share it. The ranks only read it, except `merged`; rank 0 also writes the
/// files. A pointer to what the options do not ask for is null.
struct Session {
  const LoadedPlan *loaded = nullptr;
  /// The number of this process of the run; the one with rank 0 writes and
  /// speaks.
  unsigned process = 0, processes = 1;
  bool first() const { return process == 0; }
  /// Returns the number of ranks that are threads of this process.
  unsigned ranksHere() const { return worldOf(plan()) / processes; }
  /// The options; `eval_every` is set also where epochs decide it.
  TrainOptions options;
  /// The steps in all; of a live run, more than anyone makes.
  uint64_t steps = 0;
  std::unique_ptr<DataSource> data; // null in a live run
  std::optional<SampleOrder> order;
  std::unique_ptr<Evaluation> evaluation;
  /// The checkpoint that the run goes on from.
  std::unique_ptr<Checkpoint> resumed;
  std::unique_ptr<Resume> resume;
  std::unique_ptr<ParameterSources> sources; // null where there is `resume`
  /// The folder where checkpoints are written. In processes after the first it
  /// is there once they have met.
  std::unique_ptr<CheckpointFolder> checkpoints;
  SavedFile gradients;          ///< of the first step; its path may be empty
  std::vector<SavedFile> saved; ///< after the last step, in this order
  /// The values to be added to the weights that are saved. After the last step
  /// each rank writes its part.
  std::optional<AdapterValues> merged;
  /// Process 0's files beside the run. Those that cannot be written any more
  /// become null.
  std::unique_ptr<TrainLog> log;
  std::unique_ptr<EventFile> events;
  std::unique_ptr<TraceFile> trace;
  std::optional<StopSignal> signal;

  const plan::Plan &plan() const { return loaded->plan; }
  /// Returns the samples of the data; 0 where they are not known.
  uint64_t samples() const { return data ? data->samples() : 0; }
  /// Returns how many steps runs before this one made.
  uint64_t firstStep() const {
    return resumed ? resumed->index().run.steps : 0;
  }
  /// Returns what this process has found that all must have found alike.
  std::map<std::string, std::string> found() const;
  /// Returns whether an evaluation follows the step.
  bool evaluatesAfter(uint64_t step) const {
    return evaluation &&
           ((step + 1) % *options.eval_every == 0 || step + 1 == steps);
  }
  bool wantsToStop() const {
    return (signal && signal->requested()) ||
           (options.stop && options.stop->load());
  }
  /// Say what the user should know, and what may be wrong, which --quiet does
  /// not keep back. Each ends the line of progress first; any thread may call
  /// them.
  void say(const std::string &text) const { tell(options.say, "note", text); }
  void warn(const std::string &text) const {
    tell(options.warn, "warning", text);
  }
  /// Shows how far the run is.
  void show(const StepRecord &record) const;
  /// Writes the trace, if there is to be one; warns where it cannot, since what
  /// was trained is there.
  void writeTrace(const std::vector<StepTimes> &ranks) const;
  /// Begins; called when the first step is next.
  void begin();

private:
  void tell(const std::function<void(const std::string &)> &to,
            const char *kind, const std::string &text) const;

  mutable std::mutex speaking; // one at a time; guards `progress`
  mutable std::optional<Progress> progress;
};

/// Opens and checks all of it; files to be written, in process 0 alone. Each
/// process looks at its part of the labels that the run will read. Nothing is
/// written yet but temporary files and, where there was no log, an empty one.
/// The plan is verified.
absl::StatusOr<std::unique_ptr<Session>>
openSession(const LoadedPlan &loaded, const TrainOptions &options,
            unsigned process = 0, unsigned processes = 1);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_SESSION_H
