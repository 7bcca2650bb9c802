//===- WriteUniversal.h - a checkpoint as DeepSpeed loads it --------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_WRITEUNIVERSAL_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_WRITEUNIVERSAL_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/state/StateDictNames.h"

namespace zerograph {

struct UniversalOptions {
  StateDictNames names;
  /// Counts of ZeRO 3 are tensors, as optimizers of torch.optim want them, and
  /// not numbers, as DeepSpeed's own do.
  bool torch_optimizer = false;
};

struct WrittenUniversal {
  std::string path; // of the checkpoint, in the folder
  uint64_t parameters = 0;
  /// Notes that the user should read.
  std::vector<std::string> notes;
};

/// Writes a checkpoint in DeepSpeed's universal layout to a folder, which is
/// made where there is none, and which then names it as the newest. It has its
/// name only when it is whole. One error lists all tensors that the layout
/// cannot hold.
absl::StatusOr<WrittenUniversal> writeUniversal(const Checkpoint &checkpoint,
                                                const UniversalOptions &options,
                                                const std::string &folder);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_WRITEUNIVERSAL_H
