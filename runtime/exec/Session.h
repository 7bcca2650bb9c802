//===- Session.h - what the ranks of a training run share -----------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_SESSION_H
#define ZEROGRAPH_RUNTIME_EXEC_SESSION_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Resume.h"
#include "runtime/exec/Evaluation.h"
#include "runtime/exec/EventFile.h"
#include "runtime/exec/LossScaler.h"
#include "runtime/exec/Machine.h"
#include "runtime/exec/Progress.h"
#include "runtime/exec/SampleOrder.h"
#include "runtime/exec/StopSignal.h"
#include "runtime/exec/Trace.h"
#include "runtime/exec/Train.h"
#include "runtime/exec/TrainLog.h"
#include "runtime/exec/TrainingPrograms.h"
#include "runtime/state/Initialize.h"
#include "runtime/state/WeightFile.h"

#include <mutex>

namespace zerograph {

/// Everything opened and checked before a rank begins. The ranks only read it,
/// except `merged`; rank 0 also writes the log and the result.
struct Session {
  const LoadedPlan *loaded = nullptr;
  /// The number of this process of the run; the one with rank 0 writes and
  /// speaks.
  unsigned process = 0, processes = 1;
  bool first() const { return process == 0; }
  /// The options; `eval_every` is set also where epochs decide it.
  TrainOptions options;
  uint64_t steps = 0; ///< in all
  Machine machine;
  std::unique_ptr<DataSource> data;
  std::optional<SampleOrder> order;
  std::unique_ptr<Evaluation> evaluation; // or null
  /// The checkpoint that the run goes on from; or null.
  std::unique_ptr<Checkpoint> resumed;
  std::unique_ptr<Resume> resume;
  std::unique_ptr<ParameterSources> sources; // null where there is `resume`
  /// The folder where checkpoints are written; or null. In processes after the
  /// first it is there once they have met.
  std::unique_ptr<CheckpointFolder> checkpoints;
  std::unique_ptr<SafetensorsWriter> weights;   // or null
  std::unique_ptr<SafetensorsWriter> adapters;  // or null
  std::unique_ptr<SafetensorsWriter> gradients; // or null
  std::unique_ptr<SafetensorsWriter> states;    // or null
  /// The values to be added to the weights that are saved; or null. After the
  /// last step each rank writes its part.
  std::unique_ptr<AdapterValues> merged;
  /// The log. It is null without one, unless first(), and once it cannot be
  /// written any more, like `events`.
  std::unique_ptr<TrainLog> log;
  std::unique_ptr<Progress> progress; // or null
  std::unique_ptr<EventFile> events;  // or null
  std::unique_ptr<TraceFile> trace;   // or null
  std::unique_ptr<StopSignal> signal; // or null

  TrainResult result; // losses and times by rank 0

  const plan::Plan &plan() const { return loaded->plan; }
  /// Returns how many steps runs before this one made.
  uint64_t firstStep() const {
    return resumed ? resumed->index().run.steps : 0;
  }
  /// Returns options for gradients, of which `scale` makes means of sums.
  static WeightFileOptions gradientOptions(double scale = 1) {
    return {Role::Gradient, /*trainable_only=*/true, scale};
  }
  static WeightFileOptions stateOptions() { return {Role::Optimizer}; }
  static WeightFileOptions adapterOptions() {
    return {Role::Param, /*trainable_only=*/true};
  }
  /// Returns options for weights, to which adapters are added.
  WeightFileOptions weightOptions() const {
    WeightFileOptions result;
    result.merged = merged.get();
    return result;
  }
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

  mutable std::mutex speaking; // and for `progress`
};

/// Opens and checks all of it; files to be written, in process 0 alone. Each
/// process looks at its part of the labels that the run will read. Nothing is
/// written yet but temporary files and, where there was no log, an empty one.
/// `accelerator` is the number of the session's.
absl::StatusOr<std::unique_ptr<Session>>
openSession(const LoadedPlan &loaded, const TrainOptions &options,
            unsigned process = 0, unsigned processes = 1,
            unsigned accelerator = 0);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_SESSION_H
