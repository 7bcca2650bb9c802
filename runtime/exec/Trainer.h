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

/// Where training begins: with the first step, or where another trainer ended.
struct TrainerPosition {
  uint64_t steps = 0, updates = 0; // made
  std::optional<SavedLossScale> loss_scale;
};

struct TrainerOptions {
  /// Gives states the values that they begin with, as ParameterSources does;
  /// null: all begin as zeros, and can be written by `Trainer::state`.
  std::function<absl::Status(const RankMemory &)> initialize;
  /// What `initialize` fills in is of a run that has come this far.
  TrainerPosition begin;
  /// Instead of the learning rates of the plan's groups.
  std::optional<double> learning_rate;
  /// Of the plan's random numbers.
  uint64_t seed = 0;
  /// Threads of a stream that computes; 0: the processors' share of a rank.
  unsigned threads = 0;
  /// Ranks that are threads of this process; and processes of the run that
  /// share its processors, itself included.
  unsigned ranks_here = 1, processes_here = 1;
  /// What a GPU is given at once, and how long it may take to finish a step.
  Graphs graphs = Graphs::Compute;
  double deadline_seconds = options::Train().deadline_seconds;
  /// Of states that the plan keeps on NVMe.
  FileOptions files = {};
  /// Whether `times` is wanted.
  bool record_times = false;
  /// Ends the run where NaN or infinity reaches what lasts, with the step that
  /// made it (NonfiniteSearch.h); slow.
  bool debug_nonfinite = false;
  /// What the ranks of a process share; null: opened here. It outlives the
  /// trainer.
  const Machine *machine = nullptr;
  /// The other ranks; null: there are none. Both outlive the trainer.
  Collectives *collectives = nullptr;
  ControlPlane *control = nullptr;
};

/// What a step gave, the same on every rank.
struct StepResult {
  double loss = 0;   // mean over ranks and micro-batches, or what they count
  bool stop = false; // some rank wished to stop
  /// Of the mean gradient, before clipping, where the plan computes it.
  std::optional<double> gradient_norm;
  /// Gradients were not all finite, and the plan updates nothing then.
  bool skipped = false;
  double learning_rate = 0; // of the update, and the first group
  double loss_scale = 1;    // that backward began with
};

/// Of an evaluation: its losses, and what they count where the plan has a count
/// of losses.
struct EvaluatedSum {
  double loss = 0;
  std::optional<double> count;
};

/// Every rank makes the same calls; one that fails ends all others' too. Keep
/// it until all ranks have returned: they read each other's memory.
class Trainer {
public:
  /// The plan outlives the trainer. Verifies it, unless `options.machine` was
  /// opened for it, and meets the other ranks, which must have the same plan.
  static absl::StatusOr<std::unique_ptr<Trainer>>
  create(const LoadedPlan &plan, const TrainerOptions &options);

  /// One step: the batch's micro-batches, then the update. `stop`: this rank
  /// wishes to stop after it, which is told to all and changes nothing else.
  /// `next`: the batch of the next step, whose first micro-batch is then read
  /// while this one runs; it is read no more in the next step. Null: it is not
  /// known yet, or there is none.
  absl::StatusOr<StepResult> step(const Batch &batch, bool stop = false,
                                  const Batch *next = nullptr);

  /// The two parts of a step, for those who look at gradients in between.
  absl::Status accumulate(const Batch &batch, bool stop = false,
                          const Batch *next = nullptr);
  absl::StatusOr<StepResult> update();

  /// Between steps, of a plan that evaluates: what micro-batches that are not
  /// trained on add up to, each times its weight, over all ranks.
  /// `weights`: of this rank's micro-batches, as many on every rank. Changes
  /// nothing that is trained.
  absl::StatusOr<EvaluatedSum> evaluate(const Batch &batch,
                                        absl::Span<const double> weights);

  /// After the last step, on all ranks: ends what they exchange by.
  absl::Status close() { return executor->close(); }
  /// This rank failed: all of them end.
  void abort(const absl::Status &status);

  /// What turns sums over ranks and micro-batches into means, behind the last
  /// micro-batch of a step: of the loss and of gradients.
  absl::StatusOr<double> meanScale() const;

  /// Between steps, and `begin` of a trainer that goes on; its steps are those
  /// that were made, before it too.
  TrainerPosition position() const {
    return {steps_done, updates_done, loss_scaler.state()};
  }
  /// By which the next step multiplies its loss for backward.
  double lossScale() const { return loss_scaler.scale(); }
  /// What this rank holds of parameters, gradients and optimizer states; to be
  /// read or written between steps.
  std::vector<ParameterPart> state() const;
  const RankMemory &memory() const { return executor->memory(); }

  /// Arenas, in the plan's order.
  const std::vector<std::unique_ptr<Buffer>> &arenas() const {
    return executor->arenas();
  }
  /// Of the last step.
  StepTimes times() const { return executor->times(); }
  CrossingCount crossed() const { return executor->crossed(); }

private:
  Trainer(const LoadedPlan &loaded, const TrainerOptions &options);
  absl::Status prepare();
  absl::Status readMicroBatch(unsigned program, const Batch &batch,
                              uint64_t micro_batch);
  /// The place of a micro-batch's first sample among those of all ranks.
  uint64_t sampleBase(uint64_t micro_batch) const;
  /// Sums of what is evaluated, or of what trains, begin at 0.
  absl::Status zeroTotals(bool evaluated) const;
  absl::Status runMicroBatches(const Batch &batch, const Batch *next);
  /// Runs a program, on all ranks together; of micro-batch `k`, if it is one.
  absl::Status runProgram(
      unsigned program, unsigned slot, std::optional<uint64_t> k,
      absl::FunctionRef<void()> meanwhile = [] {});
  absl::Status runEvaluation(const Batch &batch,
                             absl::Span<const double> weights);
  absl::StatusOr<StepResult> readResult() const;
  /// Aborts, and gives the error.
  absl::Status fail(const absl::Status &status);

  const LoadedPlan &loaded;
  const plan::Plan &plan;
  TrainerOptions options;
  Machine own_machine; // where none was given
  std::vector<std::unique_ptr<HostCommunicator>> alone;
  TrainingPrograms programs;
  ScalarInputs scalars;
  LossScaler loss_scaler;
  uint64_t steps_done = 0, updates_done = 0;
  std::vector<Staging> staging; // by program
  /// Whether the first micro-batch of the next step has been read.
  bool read_ahead = false;
  std::unique_ptr<Executor> executor;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_TRAINER_H
