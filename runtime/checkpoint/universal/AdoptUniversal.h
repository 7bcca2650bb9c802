//===- AdoptUniversal.h - DeepSpeed's checkpoint as one of ours -----------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_ADOPTUNIVERSAL_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_ADOPTUNIVERSAL_H

#include "runtime/checkpoint/universal/UniversalCheckpoint.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/state/StateDictNames.h"

namespace zerograph {

/// Options for what DeepSpeed's layout does not say.
struct AdoptOptions {
  StateDictNames names;
  /// Values that it lacks, by PyTorch's names; may be empty.
  TensorFile weights;
  uint64_t seed = 0;
  std::optional<uint64_t> shuffle;
};

struct AdoptedCheckpoint {
  std::string path;
  CheckpointRun run;
  uint64_t tensors = 0;
  std::vector<std::string> notes;
};

/// Writes the checkpoint that runs of this plan, which is valid, go on from, to
/// a folder of checkpoints. Each tensor is named, laid out and typed as the
/// plan has it. One error lists all that does not fit.
absl::StatusOr<AdoptedCheckpoint>
adoptUniversal(const LoadedPlan &loaded, const UniversalCheckpoint &universal,
               const AdoptOptions &options, const std::string &folder);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_ADOPTUNIVERSAL_H
