//===- OwnedPieces.h - what a rank writes into a checkpoint ---------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_OWNEDPIECES_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_OWNEDPIECES_H

#include "runtime/checkpoint/Index.h"
#include "runtime/state/Layout.h"

namespace zerograph {

/// A piece of a tensor, in a rank's memory.
struct OwnedPiece {
  CheckpointTensor tensor; // without pieces
  uint64_t first = 0, elements = 0;
  DeviceRange bytes;
  bool in_file = false; ///< on NVMe: it is not copied to memory
};

/// Returns a state that a checkpoint holds, as a tensor without pieces.
CheckpointTensor tensorOf(const plan::Unit &unit, const plan::State &state,
                          const plan::Parameter &parameter, unsigned rank);
/// Returns all that a checkpoint of a plan's runs holds of one rank, without
/// pieces: of rank 0 also what ranks share.
std::vector<CheckpointTensor> savedTensors(const plan::Plan &plan,
                                           unsigned rank);

/// Returns what this rank writes: all ranks together write each element of
/// every parameter and optimizer state once; of what each rank has its own,
/// each its own. Larger elements come first.
std::vector<OwnedPiece> ownedPieces(const plan::Plan &plan,
                                    const RankMemory &memory);

/// Bytes of that, before there is any memory.
uint64_t ownedBytes(const plan::Plan &plan, unsigned rank);
/// Memory that a CheckpointWriter takes of it: for the copy, and for the
/// largest piece of a file.
uint64_t checkpointMemory(const plan::Plan &plan, unsigned rank);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_OWNEDPIECES_H
