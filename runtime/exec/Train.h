//===- Train.h - a training run -------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_TRAIN_H
#define ZEROGRAPH_RUNTIME_EXEC_TRAIN_H

#include "options/Options.h"
#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/device/Driver.h"
#include "runtime/exec/TrainLog.h"
#include "runtime/exec/rank_report.pb.h"
#include "runtime/plan/PlanFile.h"

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// A run that begins.
struct RunBegin {
  uint64_t steps = 0;      ///< in all, with those that earlier runs made
  uint64_t first_step = 0; ///< how many these are
  uint64_t samples = 0;    ///< of a step
};

struct TrainOptions {
  /// Tells whether the caller makes the steps, from batches in memory, as many
  /// as it likes (LiveRun.h): then there are no data, steps, epochs or files to
  /// save at the end.
  bool live = false;
  /// Other plans of the same states, whose batches a live run takes too; they
  /// outlive it.
  std::vector<const LoadedPlan *> also;
  /// How long the run is: steps, or as many as whole passes over the data take;
  /// at most one is given, and neither is one pass.
  std::optional<uint64_t> steps, epochs;
  /// The seed that gives each epoch an order of its own; none: that of the
  /// data.
  std::optional<uint64_t> shuffle;
  /// .safetensors files, folders of these, or folders of .npy files, whose
  /// samples follow one another.
  std::vector<std::string> data;
  /// More such data, evaluated after every `eval_every` steps (none: after each
  /// epoch of `data`) and after the last one; empty: no evaluation. The plan
  /// must be compiled for it.
  std::vector<std::string> eval_data;
  std::optional<uint64_t> eval_every;
  /// The path that the plan came from: its weight file lies beside it.
  std::string plan_path;
  /// The model that the plan was made of just now; else empty. It is not read
  /// here, and not written over either.
  std::string model_path;
  /// A log with one JSON object a step; empty for none.
  std::string log;
  /// A folder for TensorBoard; empty for none.
  std::string tensorboard;
  /// The threads of the compute stream of each rank; 0: the machine's
  /// processors divided among the ranks.
  unsigned threads = 0;
  /// The processes of the run that share this one's processors, itself
  /// included.
  unsigned processes_here = 1;
  /// A file of weights, and a map of what it calls them; or empty.
  std::string load_weights, names;
  /// Files for all weights, with what adapters add to them; and for those alone
  /// that were trained.
  std::string save_weights, save_adapters;
  /// A folder; empty for none. A checkpoint is written there after every
  /// `every` steps, the last one, and one that a signal ends the run with;
  /// the newest `keep` of them stay, or all.
  std::string checkpoint;
  std::optional<uint64_t> every, keep;
  /// A checkpoint to go on from, or a folder whose newest it is; "latest": the
  /// newest in `checkpoint`, if there is one.
  std::string resume;
  /// Allows a checkpoint of another precision.
  bool convert_precision = false;
  /// The folder for states that the plan keeps on NVMe, and how the files there
  /// are read and written.
  std::string nvme_path;
  uint64_t nvme_block_size = options::Train().nvme_block_size;
  unsigned nvme_queue_depth = options::Train().nvme_queue_depth;
  /// The deviation of made up parameters.
  std::optional<double> init_missing;
  uint64_t seed = 0;
  /// Tells whether the seed was chosen: that a checkpoint has another one is
  /// then an error.
  bool seed_given = false;
  /// A file for the gradients of the first step, averaged; the plan must be
  /// compiled for it.
  std::string dump_gradients;
  /// A file for what the optimizer keeps after the last step.
  std::string dump_states;
  /// A file of the algorithms that a GPU's libraries use for products and
  /// convolutions: read or, where there is no such file, written.
  std::string algorithms;
  /// A trace of a step, for Perfetto; empty for none. The step, counted from 0;
  /// none: the last.
  std::string trace;
  std::optional<uint64_t> trace_step;
  /// Ends the run where a value that is not finite does harm, and names it.
  bool debug_nonfinite = false;
  /// The longest that a rank waits for another.
  double deadline_seconds = options::Train().deadline_seconds;
  /// The part of a program that a GPU is given at once.
  Graphs graphs = Graphs::Compute;
  /// Tells whether `graphs` was chosen: that it has no effect is then said.
  bool graphs_given = false;
  /// Replaces the learning rates of the plan's groups.
  std::optional<double> learning_rate;
  /// Shows nothing of the steps.
  bool quiet = false;
  /// Shows a line of progress after every so many steps (Progress.h).
  std::optional<uint64_t> print_every;
  /// Lets SIGINT, SIGTERM or SIGUSR1 end the run after the step.
  bool handle_interrupt = true;
  /// Ends the run after the step while true; may be null.
  const std::atomic<bool> *stop = nullptr;
  /// Called when all is opened, read and checked and the first step is next, by
  /// rank 0's thread; may be null.
  std::function<void(const RunBegin &)> on_begin;
  /// Called with each finished step, by rank 0's thread; may be null.
  std::function<void(const StepRecord &)> on_step;
  /// Called with what the user should know, and what may be wrong, one at a
  /// time; write to standard error by default.
  std::function<void(const std::string &)> say, warn;
  /// Called by each rank as it enters a collective; for tests.
  std::function<void(unsigned rank, const CollectiveSite &)> on_collective;
};

/// Rank 0's checkpoints of a run.
struct CheckpointTimes {
  std::string last; // the newest that was published; empty: none
  /// The milliseconds of each checkpoint: while no step ran, and until it was
  /// published.
  std::vector<double> stood_ms, wrote_ms;
};

/// The parts of a GPU's memory that a run has, in bytes.
struct GpuMemory {
  uint64_t before = 0; // the context, and other processes
  uint64_t code = 0;   // kernels, cuBLASLt and cuDNN
  uint64_t nccl = 0;   // its communicator
  uint64_t arenas = 0; // planned, of all ranks that share the GPU
  /// The whole at the end: beyond the others it has the graphs', what NCCL has
  /// of registered memory, and what is between an arena's end and the driver's
  /// granule.
  uint64_t all = 0;
};

struct TrainResult {
  uint64_t steps = 0;      // that were wanted, with those before `first_step`
  uint64_t first_step = 0; // made by runs before this one
  /// The mean over ranks and micro-batches, one a step from `first_step` on.
  std::vector<double> losses;
  std::vector<double> step_ms;
  /// Maps a step to the mean loss, after it, of the samples to evaluate.
  std::map<uint64_t, double> eval_losses;
  uint64_t eval_rounds = 0; // of an evaluation: micro-batches of each rank
  std::vector<exec::RankReport> ranks;
  CheckpointTimes checkpoints;
  /// Has a text for each file that could not be written where it was wanted, by
  /// its path: why, and where it is instead.
  std::map<std::string, std::string> elsewhere;
  /// Names one of the weights that are kept which is not finite; or is empty.
  std::string nonfinite_weight;
  bool stopped = false;        // before the last step, because it was asked for
  int stop_signal = 0;         // the signal that asked; 0: none
  uint64_t peak_rss_bytes = 0; // of the process; of several, the most
  std::optional<GpuMemory> gpu; // rank 0's
};

/// Verifies the plan, checks that this machine can run it, and trains, each
/// rank on a thread. An error that ends a run is the first rank's that failed;
/// the others ended because of it.
absl::StatusOr<TrainResult> train(const LoadedPlan &loaded,
                                  const TrainOptions &options);

/// Does the same for the one rank of this process; the others' processes call
/// it too, with the same plan. Rank 0's returns the result of all, and writes
/// what is written; the others' results are empty. Ranks of a plan for GPUs
/// exchange by NCCL instead of `collectives`. A failure before the run is one
/// error, as `agree` gives it; in the run each rank has its own. The process is
/// to end next: a signal to stop that comes after the last step does not kill
/// it.
absl::StatusOr<TrainResult> trainAsRank(const LoadedPlan &loaded,
                                        const TrainOptions &options,
                                        Collectives &collectives,
                                        ControlPlane &control);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_TRAIN_H
