//===- Trainer.h - training with a plan, a step at a time -----------------===//
//
// One rank's training: what the command's `train` is made of, and what a
// program calls that has its data in memory. No files, no progress, no signals.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_TRAINER_H
#define ZEROGRAPH_RUNTIME_EXEC_TRAINER_H

#include "options/Options.h"
#include "runtime/comm/HostCommunicator.h"
#include "runtime/exec/Batch.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/LossScaler.h"
#include "runtime/exec/Machine.h"
#include "runtime/exec/Staging.h"
#include "runtime/exec/TrainingPrograms.h"
#include "runtime/plan/PlanFile.h"

namespace zerograph {

/// The point where training begins: with the first step, or where another
/// trainer ended.
struct TrainerPosition {
  uint64_t steps = 0, updates = 0; // made
  std::optional<SavedLossScale> loss_scale;
};

struct TrainerOptions {
  /// Gives states the values that they begin with, as ParameterSources does;
  /// null: all begin as zeros, and can be written by `Trainer::state`.
  std::function<absl::Status(const RankMemory &)> initialize;
  /// How far the run had come whose states `initialize` fills in.
  TrainerPosition begin;
  /// Replaces the learning rates of the plan's groups.
  std::optional<double> learning_rate;
  /// The seed of the plan's random numbers.
  uint64_t seed = 0;
  /// The threads of a stream that computes; 0: the processors' share of a rank.
  unsigned threads = 0;
  /// The ranks that are threads of this process; and the processes of the run
  /// that share its processors, itself included.
  unsigned ranks_here = 1, processes_here = 1;
  /// The part of a program that a GPU is given at once, and how long it may
  /// take to finish a step.
  Graphs graphs = Graphs::Compute;
  double deadline_seconds = options::Train().deadline_seconds;
  /// The files of states that the plan keeps on NVMe.
  FileOptions files = {};
  /// Tells whether `times` is wanted.
  bool record_times = false;
  /// Ends the run where NaN or infinity reaches what lasts, with the step that
  /// made it (NonfiniteSearch.h); slow.
  bool debug_nonfinite = false;
  /// The machine that the ranks of a process share; null: opened here. It
  /// outlives the trainer.
  const Machine *machine = nullptr;
  /// Other plans of the same states, for batches of other shapes, which outlive
  /// the trainer (SameStates.h). They were added to `machine` in this order.
  std::vector<const LoadedPlan *> also;
  /// The means by which it exchanges with other ranks; null: there are none.
  /// Both outlive the trainer.
  Collectives *collectives = nullptr;
  ControlPlane *control = nullptr;
};

/// The result of a step, the same on every rank.
struct StepResult {
  double loss = 0;   // mean over ranks and micro-batches, or what they count
  bool stop = false; // some rank wished to stop
  /// The norm of the mean gradient, before clipping, where the plan computes
  /// it.
  std::optional<double> gradient_norm;
  /// Tells whether gradients were not all finite, and the plan updates nothing
  /// then.
  bool skipped = false;
  double learning_rate = 0; // of the update, and the first group
  double loss_scale = 1;    // that backward began with
  /// The plan's metrics: means over ranks and micro-batches.
  std::vector<double> metrics;
};

/// The sums of an evaluation: its losses, and what they count where the plan
/// has a count of losses; its metrics, and what those are to be divided by,
/// which Evaluation knows: micro-batches, each by its samples.
struct EvaluatedSum {
  double loss = 0;
  std::optional<double> count;
  std::vector<double> metrics;
  double weight = 0;
};

/// Every rank makes the same calls; one that fails ends all others' too. Keep
/// it until all ranks have returned: they read each other's memory.
class Trainer {
public:
  /// The plan outlives the trainer. Verifies it, unless `options.machine` was
  /// opened for it, and meets the other ranks, which must have the same plan.
  static absl::StatusOr<std::unique_ptr<Trainer>>
  create(const LoadedPlan &plan, const TrainerOptions &options);

  /// Has batches be those of a plan, until the next call: 0 is the plan that
  /// the trainer was made of, and then come the others. Between steps; every
  /// rank uses the same.
  absl::Status use(size_t number);
  const plan::Plan &usedPlan() const { return *plans[used].plan; }

  /// Makes one step: the batch's micro-batches, then the update. `stop`: this
  /// rank wishes to stop after it, which is told to all and changes nothing
  /// else. `next` is the batch of the next step, whose first micro-batch is
  /// then read while this one runs, and no more in the next step. Null: it is
  /// not known yet, or there is none.
  absl::StatusOr<StepResult> step(const Batch &batch, bool stop = false,
                                  const Batch *next = nullptr);

  /// Do the two parts of a step, for those who look at gradients in between.
  absl::Status accumulate(const Batch &batch, bool stop = false,
                          const Batch *next = nullptr);
  absl::StatusOr<StepResult> update();

  /// Zeroes the sums of gradients, as an update leaves them, of a plan whose
  /// update is a program of its own: `accumulate` may then come again.
  absl::Status discard() const;

  /// Replaces the learning rates of groups, by their numbers in the plan, and
  /// the schedule, from the next update on; those of others apply.
  void setLearningRates(const std::map<uint32_t, double> &rates) {
    scalars.fixed_rates = rates;
  }

  /// Returns, between steps and for a plan that evaluates, what micro-batches
  /// that are not trained on add up to, each times its weight, over all ranks.
  /// `weights` are those of this rank's micro-batches, as many on every rank.
  /// Changes nothing that is trained.
  absl::StatusOr<EvaluatedSum> evaluate(const Batch &batch,
                                        absl::Span<const double> weights);

  /// Ends what ranks exchange by, after the last step, on all of them.
  absl::Status close() { return executor->close(); }
  /// Ends all ranks: this one failed.
  void abort(const absl::Status &status);

  /// Returns the factor that turns sums over ranks and micro-batches into
  /// means, of the loss and of gradients, after the last micro-batch of a step.
  absl::StatusOr<double> meanScale() const;

  /// Returns the position between steps, which is `begin` of a trainer that
  /// goes on; its steps are those that were made, before it too.
  TrainerPosition position() const {
    return {steps_done, updates_done, loss_scaler.state()};
  }
  /// Returns the factor of the next step's loss for backward.
  double lossScale() const { return loss_scaler.scale(); }
  /// Returns what this rank holds of parameters, gradients and optimizer
  /// states; to be read or written between steps.
  std::vector<ParameterPart> state() const;
  const RankMemory &memory() const { return executor->memory(); }

  /// Returns the arenas, in the plan's order.
  const std::vector<std::unique_ptr<Buffer>> &arenas() const {
    return executor->arenas();
  }
  /// Returns the times of the last step.
  StepTimes times() const { return executor->times(); }
  HostTraffic crossed() const { return executor->crossed(); }

private:
  /// A plan that is bound, and the positions of its programs among all.
  struct Used {
    const plan::Plan *plan;
    TrainingPrograms programs;
  };

  Trainer(const LoadedPlan &loaded, const TrainerOptions &options);
  absl::Status prepare();
  absl::Status comparePlans() const;
  absl::Status bindPlans(RankDevices devices);
  absl::Status prepare(Used &one);
  absl::Status zeroGradients() const;
  absl::Status readMicroBatch(unsigned program, const Batch &batch,
                              uint64_t micro_batch);
  /// Returns the place of a micro-batch's first sample among those of all
  /// ranks.
  uint64_t sampleBase(uint64_t micro_batch) const;
  /// Zeroes the sums of what is evaluated, or of what trains.
  absl::Status zeroTotals(bool evaluated) const;
  absl::Status runMicroBatches(const Batch &batch, const Batch *next);
  /// Runs a program, on all ranks together; for micro-batch `k`, if it is
  /// given.
  absl::Status runProgram(
      unsigned program, unsigned slot, std::optional<uint64_t> k,
      absl::FunctionRef<void()> meanwhile = [] {});
  absl::Status runEvaluation(const Batch &batch,
                             absl::Span<const double> weights);
  absl::StatusOr<StepResult> readResult() const;
  /// Reads a sum over ranks.
  absl::StatusOr<double> readTotal(const plan::Total &total) const;
  absl::StatusOr<std::vector<double>> readTotals(
      const google::protobuf::RepeatedPtrField<plan::Total> &totals) const;
  /// Aborts, and returns the error.
  absl::Status fail(const absl::Status &status);

  const TrainingPrograms &programs() const { return plans[used].programs; }

  std::vector<Used> plans; // at least one
  size_t used = 0;         // whose batches these are
  TrainerOptions options;
  Machine own_machine; // where none was given
  std::vector<std::unique_ptr<HostCommunicator>> alone;
  ScalarInputs scalars;
  LossScaler loss_scaler;
  uint64_t steps_done = 0, updates_done = 0;
  std::vector<Staging> staging; // by program
  /// Tells whether the first micro-batch of the next step has been read.
  bool read_ahead = false;
  std::unique_ptr<Executor> executor;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_TRAINER_H
