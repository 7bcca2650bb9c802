//===- WriteShard.h - a rank's file of a checkpoint -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_WRITESHARD_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_WRITESHARD_H

#include "runtime/checkpoint/Index.h"

#include "absl/functional/function_ref.h"

namespace zerograph {

/// The tensor that a piece is of.
struct ShardPiece {
  const CheckpointTensor *tensor = nullptr; // without pieces
  uint64_t first = 0, elements = 0;         // at least one
};

/// Writes a rank's file to `folder`: these pieces, larger elements first.
/// `bytesOf(i)` gives those of piece `i`, each once and in order; they stay
/// until it is asked again. Gives the rank's part of the index.
absl::StatusOr<CheckpointIndex> writeShard(
    const std::string &folder, const CheckpointRun &run, uint32_t rank,
    const std::vector<ShardPiece> &pieces,
    absl::FunctionRef<absl::StatusOr<const std::byte *>(size_t)> bytesOf);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_WRITESHARD_H
