//===- NcclCollectives.h - ranks with a GPU each --------------------------===//
//
// Collectives by NCCL, between threads or processes, which meet through any
// ControlPlane. On the stream each collective awaits the one before it in the
// plan's order. Gradients are exchanged and then folded by the plan's kernel,
// which gives the host's bits, unless the plan leaves the order to NCCL; sums
// of scalars are always folded. The exchange is a group of sends and receives:
// ncclAlltoAll wants what goes to one rank beside what goes to the next, and a
// chunk of a segment is not.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVES_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVES_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/device/Device.h"

namespace zerograph {

/// Makes the collectives of the rank of `control`, whose GPU has loaded
/// `module`. Ranks meet, and make NCCL's connections, when it is opened. An
/// error where there is no NCCL. Both outlive it.
absl::StatusOr<std::unique_ptr<Collectives>>
makeNcclCollectives(const Module &module, ControlPlane &control,
                    const ExchangeOptions &options);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVES_H
