//===- NcclCollective.h - one collective by NCCL --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVE_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVE_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/cuda/QueueOrder.h"
#include "runtime/comm/nccl/NcclComm.h"
#include "runtime/device/cuda/CudaModule.h"

namespace zerograph {

/// The state that the collectives of a rank share, used by the thread that
/// issues.
struct NcclRank {
  const NcclApi *api = nullptr;
  const CudaModule *module = nullptr;
  NcclComm *comm = nullptr;
  unsigned rank = 0, world = 1;
  bool alone = true; // in its process
  /// Orders collectives; one is complete when this rank is done with it.
  QueueOrder order;
  TrafficCount count;
};

/// Binds a collective; `rank` outlives the operation.
absl::StatusOr<std::unique_ptr<Operation>>
bindNcclCollective(NcclRank &rank, const plan::Step &step, CollectiveSite site,
                   const std::vector<DeviceRange> &ranges);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVE_H
