//===- RunFiles.h - files of a universal checkpoint without tensors -------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_RUNFILES_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_RUNFILES_H

#include "runtime/checkpoint/Index.h"

namespace zerograph::universal {

/// How often a parameter was updated, as a tensor: optimizers of PyTorch have
/// one, and DeepSpeed's own take it.
absl::Status writeStep(uint64_t updates, const std::string &path);

/// Writes what ZeRO 1 and 2 read of the optimizer, and, in a dictionary in it,
/// ZeRO 3. Nothing is said of rates: those of DeepSpeed's configuration stay.
/// ZeRO 1 and 2 load as many groups as there are here, so there is one for each
/// parameter; no run has more.
absl::Status writeOptimizerState(uint64_t updates, size_t groups,
                                 bool torch_optimizer, const std::string &path);

/// Writes how far the run is, as DeepSpeed counts.
absl::Status writeModelStates(const CheckpointRun &run,
                              const std::string &path);

} // namespace zerograph::universal

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_RUNFILES_H
