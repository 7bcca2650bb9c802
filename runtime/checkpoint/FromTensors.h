//===- FromTensors.h - a checkpoint made of whole tensors -----------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_FROMTENSORS_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_FROMTENSORS_H

#include "runtime/checkpoint/Index.h"
#include "runtime/plan/PlanFile.h"

namespace zerograph {

/// Writes a checkpoint that runs of this plan, which is valid, go on from, to a
/// folder of checkpoints, and returns its path. `tensors` has all that
/// `savedTensors` has for rank 0, by their keys, and nothing else; one error
/// lists all that does not fit.
absl::StatusOr<std::string> writeCheckpoint(const LoadedPlan &loaded,
                                            const CheckpointRun &run,
                                            const TensorFile &tensors,
                                            const std::string &folder);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_FROMTENSORS_H
