//===- Estimate.h - what a plan needs, by plans of fewer blocks -----------===//
//
// Most models are a run of equal blocks (tools/compiler/EqualBlocks.h), and a
// compilation takes as long as there are blocks. So the model is compiled with
// few of them, twice, and the difference of the two plans, which is what the
// blocks between need, is added for each block that is missing.
//
// Memory grows evenly with the blocks as long as the same moment of the step
// needs most. Where another overtakes it, the whole plan needs more.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TOOLS_ADVISE_ESTIMATE_H
#define ZEROGRAPH_TOOLS_ADVISE_ESTIMATE_H

#include "simulate/Predict.h"
#include "tools/compiler/SavedImport.h"

#include <map>
#include <memory>
#include <mutex>

namespace zerograph {

/// Says what a plan needs on a machine, and how long its step takes.
struct Estimate {
  uint64_t device_bytes = 0;
  uint64_t state_bytes = 0; ///< of the first, parameters and states
  double seconds = 0, samples_per_second = 0, tokens_per_second = 0;
  simulate::Parts parts;
  bool whole = true; ///< the plan itself was made
};

/// Estimates plans of one model, whose options differ in the number of samples
/// and in options that the importer does not ask for. Any thread may use it.
class Estimator {
public:
  /// The machine outlives the estimator.
  explicit Estimator(const simulate::Machine &machine) : machine(machine) {}

  /// Makes the plan itself, and simulates it.
  absl::StatusOr<Estimate> whole(const CompileOptions &options,
                                 const simulate::Cluster &cluster) const;

  /// Makes plans of fewer blocks instead, if the model has many, these tell
  /// what all do, and they can be made. Keeps the imports of every number of
  /// samples that it was asked about.
  absl::StatusOr<Estimate> estimate(const CompileOptions &options,
                                    const simulate::Cluster &cluster);

private:
  /// A model's imports for some number of samples.
  struct Imports {
    std::mutex importing; ///< the first thread that needs them imports
    std::shared_ptr<const SavedImport> whole; ///< null if these are there:
    std::shared_ptr<const SavedImport> few, more;
    uint64_t blocks = 0; ///< of the whole model, where there are few and more
  };

  absl::StatusOr<std::shared_ptr<Imports>>
  importsOf(const CompileOptions &options);
  absl::StatusOr<Estimate>
  simulated(const CompileOptions &options, const simulate::Cluster &cluster,
            std::shared_ptr<const SavedImport> import) const;

  const simulate::Machine &machine;
  std::mutex finding;
  std::map<int64_t, std::shared_ptr<Imports>> all; ///< by number of samples
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_ADVISE_ESTIMATE_H
