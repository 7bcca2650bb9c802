//===- Whole.h - a tensor of a checkpoint, for who reads it as a whole ----===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_WHOLE_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_WHOLE_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/state/StateDictNames.h"

namespace zerograph {

/// Calls `visit` for all bytes of a tensor, in order and in parts, as `as` has
/// it and in type `to`, into which its own can be converted. One that is
/// transposed comes at once. The shape fits, see StateDictName::shapeOf.
absl::Status visitTensor(
    const Checkpoint &checkpoint, const CheckpointTensor &tensor,
    const StateDictName &as, plan::ElementType to,
    absl::FunctionRef<absl::Status(const std::byte *data, uint64_t bytes)>
        visit);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_WHOLE_H
