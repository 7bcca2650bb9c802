//===- Advise.h - which strategy trains a model fastest on a machine ------===//

#ifndef ZEROGRAPH_TOOLS_ADVISE_ADVISE_H
#define ZEROGRAPH_TOOLS_ADVISE_ADVISE_H

#include "tools/advise/Estimate.h"
#include "tools/advise/Strategies.h"
#include "tools/compiler/Compile.h"

#include <functional>

namespace zerograph {

/// A strategy, tried: at the fastest of the micro-batches that were.
struct Trial {
  Strategy strategy;
  uint64_t micro_batch = 0, accumulate = 1;
  uint64_t largest = 0; ///< micro-batch that fits
  double seconds = 0, samples_per_second = 0, tokens_per_second = 0;
  uint64_t device_bytes = 0;
  uint64_t state_bytes = 0; ///< at least, of parameters and states; 0: unknown
  std::string bound;        ///< names the largest part of the step
  std::string rejected;     ///< empty, or why it is none
  /// No micro-batch would help: the options do not go together.
  bool refused = false;
  /// Plans of fewer blocks say all that (see Estimate.h), in place of the plan
  /// itself.
  bool estimated = false;
};

/// A model, the strategies to try, and where it is to be trained.
struct Question {
  CompileOptions options; ///< of every plan, but for strategy and micro-batch
  std::vector<Strategy> strategies;
  simulate::Machine machine;
  simulate::Cluster cluster;
  uint64_t global_batch = 0;   ///< samples of a step; 0: one micro-batch a rank
  uint64_t limit = UINT64_MAX; ///< bytes that a plan may have of the device
  bool all = false;            ///< also strategies that cannot gain
  size_t made_whole = 3;       ///< so many of the fastest trials
  /// Gives the dims of a model the sizes that a micro-batch decides. Any thread
  /// may call it.
  std::function<absl::Status(CompileOptions &)> bind;
  /// Strategies that are tried at the same time; each needs the memory of a
  /// compilation.
  unsigned threads = 1;
  /// Called after each strategy, by any thread; never empty.
  std::function<void(const Trial &)> tried;
};

struct Advice {
  std::vector<Trial> trials;   ///< fastest first
  std::vector<Trial> rejected; ///< nothing fits, or it is refused
};

/// Returns the trial that a rejected strategy becomes by the fewest changes,
/// the fastest of several; null if nothing fits.
const Trial *nearestThatFits(const Trial &rejected, const Advice &advice);

/// Estimates every strategy at several micro-batches up to the largest that
/// fits, beyond which one does not; with a global batch, at those that divide a
/// rank's part of it, and none where parameters and states alone do not fit.
/// The plans of the fastest are made whole, and take the place of their
/// estimates. Strategies that offload are left out where something fits
/// without. A strategy that cannot be compiled with the other options is
/// rejected; where none can, that is an error. `estimator` is for the
/// question's model and machine.
absl::StatusOr<Advice> advise(const Question &question, Estimator &estimator);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_ADVISE_ADVISE_H
