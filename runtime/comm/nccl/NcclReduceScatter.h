//===- NcclReduceScatter.h - sums of what all ranks have, by NCCL ---------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLREDUCESCATTER_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLREDUCESCATTER_H

#include "runtime/comm/nccl/NcclCollective.h"

namespace zerograph {

/// Makes a rank's reduce_scatter, whose accesses are the whole, the shard and,
/// where the plan has it, staging. `rank` outlives it.
absl::StatusOr<std::unique_ptr<NcclCollective>> bindNcclReduceScatter(
    NcclRank &rank, const plan::ReduceScatter &reduce, CollectiveSite site,
    const std::vector<DeviceRange> &ranges, std::vector<CUdeviceptr> addresses);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLREDUCESCATTER_H
