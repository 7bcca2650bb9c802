//===- Consolidate.h - a checkpoint's weights as one file -----------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_CONSOLIDATE_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_CONSOLIDATE_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/state/StateDictNames.h"

namespace zerograph {

/// Writes all parameters, whole, to a .safetensors file, as `--save-weights`
/// would have at that step: masters where there are some, running statistics of
/// rank 0; but adapters by themselves. `type`: rounded to F32, F16 or BF16
/// where they have another of these; none: as they are. Named and laid out by
/// `names`. Gives their number.
absl::StatusOr<uint64_t> consolidate(const Checkpoint &checkpoint,
                                     const std::string &path,
                                     std::optional<plan::ElementType> type,
                                     const StateDictNames &names);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_CONSOLIDATE_H
