//===- Verify.h - every byte of a checkpoint ------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_VERIFY_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_VERIFY_H

#include "runtime/checkpoint/Index.h"

namespace zerograph {

/// The checkpoint that was looked at.
struct VerifiedCheckpoint {
  CheckpointRun run;
  uint64_t tensors = 0, pieces = 0, bytes = 0;
};

/// Reads all of a checkpoint. One error lists everything that is not as it was
/// written: files that are missing or cut short, and each tensor of which bytes
/// differ.
absl::StatusOr<VerifiedCheckpoint> verifyCheckpoint(const std::string &path);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_VERIFY_H
