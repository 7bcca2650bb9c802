//===- LiveRun.h - a run whose steps its caller makes ---------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_LIVERUN_H
#define ZEROGRAPH_RUNTIME_EXEC_LIVERUN_H

#include "runtime/exec/LiveBatch.h"
#include "runtime/exec/RanksHere.h"

#include <map>
#include <set>
#include <string>
#include <type_traits>

namespace zerograph {

/// Trains as `train` does, but with batches that the caller has in memory, as
/// many as it likes. Where ranks are processes, each makes the same calls. One
/// thread uses it.
///
/// A batch has an array for each input of the plan, its first dimension
/// samples: those of a step, for all ranks (`samplesOfStep`), or, in one of
/// several processes, those of its own rank. Slice k * ranks + r is micro-batch
/// k of rank r. What is wrong with a batch changes nothing; any other failure
/// ends the run, and every later call returns it.
///
/// With more plans (`TrainOptions::also`) each step, and each evaluation, is of
/// the first one whose shapes the batch has, in all processes the same.
class LiveRun {
public:
  /// Opens the run; the plan outlives it. `collectives` and `control` are those
  /// of this process among several, which outlive it; null: all ranks are
  /// threads here.
  static absl::StatusOr<std::unique_ptr<LiveRun>>
  open(const LoadedPlan &plan, TrainOptions options,
       Collectives *collectives = nullptr, ControlPlane *control = nullptr);
  /// Ends the other ranks, unless `end` did.
  ~LiveRun();

  /// Makes a step. The arrays are read before it returns.
  absl::StatusOr<StepResult> step(const TensorFile &arrays);
  /// Do the two parts of a step, for who looks at gradients in between.
  absl::Status accumulate(const TensorFile &arrays);
  absl::StatusOr<StepResult> update();
  /// Drops the gradients in place of an update.
  absl::Status discard();
  /// Returns the losses of samples that are not trained on, as many as there
  /// are, and what their sum is to be divided by. Each process gives all.
  absl::StatusOr<EvaluatedSum> evaluate(const TensorFile &arrays);

  /// Replaces the learning rates of all groups from the next step on; no
  /// schedule applies to them. Nothing: those of the plan.
  void setLearningRate(std::optional<double> rate);
  /// Does the same for one group, by its name in the plan.
  absl::Status setLearningRate(const std::string &group,
                               std::optional<double> rate);

  /// Writes a checkpoint into `folder`, which becomes the run's, and returns
  /// its path, in the process of rank 0; elsewhere nothing.
  absl::StatusOr<std::string> saveCheckpoint(const std::string &folder);
  /// Writes .safetensors of all weights, with what adapters add to them; or of
  /// what is trained alone.
  absl::Status saveWeights(const std::string &path, bool adapters_alone);

  /// Gives `sink` what all ranks hold, in every process; ranks of one process
  /// share it and call it at once. Gradients are those since the last update.
  absl::Status read(WeightFileOptions options, const WeightSink &sink);
  /// Replaces parameters, or what the optimizer keeps of them, by some of the
  /// arrays that `weightEntries` names for the role, or `all` of them, which
  /// lie in memory of the caller and are the same in every process. Between
  /// `accumulate` and `update` the gradients stay. What is wrong with the
  /// arrays changes nothing.
  absl::Status write(Role role, const TensorFile &arrays, bool all = false);
  /// Returns the memory of what rank 0 of this process holds whole, by name: it
  /// is right until the next step.
  std::map<std::string, DeviceRange> whole(const WeightFileOptions &options);

  TrainerPosition position() { return training().position(); }
  /// Returns the first plan, which has the states of all.
  const plan::Plan &plan() const { return ranks->session().plan(); }

  /// Ends the run after its last step.
  absl::Status end();
  /// Ends it for all ranks because the caller failed.
  void abort(const std::string &reason);

private:
  explicit LiveRun(std::unique_ptr<RanksHere> ranks);

  using Work = absl::FunctionRef<absl::Status(size_t i)>;
  /// Calls `work` with each rank here, unless the run has ended; its failure
  /// ends the run.
  absl::Status forEach(Work work);
  template <typename Function>
  std::invoke_result_t<Function, size_t> firstOf(const Function &work);

  /// The parts that a batch has a micro-batch, and which is that of the first
  /// rank here.
  struct Parts {
    uint64_t count, first;
  };
  Parts partsOf(const GivenBatch &given) const;
  /// Returns an error if the step's update is made already, with its only
  /// micro-batch.
  absl::Status checkNoUpdateYet();
  void setRates();
  absl::Status accumulateOn(size_t i, const GivenBatch &given);
  /// Returns an error of the first rank on all, without ending the run.
  absl::Status agreeOn(const std::string &what, const absl::Status &first);
  absl::Status moveCheckpoints(const std::string &folder);
  Trainer &training() { return *(*ranks)[0].training(); }
  /// Returns samples, once their arrays and labels are known to be right; says
  /// once that an index below 0 was read. Those of a step are as many as it
  /// takes. In all processes they are of one plan, or all have an error.
  absl::StatusOr<GivenBatch> take(const TensorFile &arrays, bool step);
  void countByFirstPlan(EvaluatedSum &sum, const plan::Plan &by) const;
  /// Returns the samples of a step, which may come now.
  absl::StatusOr<GivenBatch> takeStep(const TensorFile &arrays);

  std::unique_ptr<RanksHere> ranks;
  std::vector<const plan::Plan *> plans; ///< the first, and the others
  absl::Status ended;                    ///< why no more calls are possible
  std::set<std::string> folders;         ///< that checkpoints were written to
  std::map<uint32_t, double> rates;      ///< the caller's, by group
  bool accumulated = false;
  bool warned_of_indices = false;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_LIVERUN_H
