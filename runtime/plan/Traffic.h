//===- Traffic.h - the bytes that a plan moves ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
#define ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H

#include "runtime/plan/steps/Step.h"

#include <optional>

namespace zerograph {

/// In one step of training: all micro-batches. The plan must be valid.
Traffic trafficOf(const plan::Plan &plan);

/// The ways that bytes go within a rank: to the host, to the device, from its
/// file to the host, and back.
enum class TransferKind { DeviceToHost, HostToDevice, FileToHost, HostToFile };

/// Bytes that a rank's device, host and file give each other.
struct HostTransfers {
  Checked down = 0, up = 0, read = 0, written = 0;

  Checked &of(TransferKind kind);
};

/// In one step of training. Inputs and scalars are not counted.
HostTransfers hostTransfersOf(const plan::Plan &plan);

/// The way on which a step brings bytes; none where it brings none.
std::optional<TransferKind> transferKindOf(const plan::Plan &plan,
                                           const plan::Step &step);

/// In an evaluation, for one micro-batch of each rank; nothing where the plan
/// does not evaluate.
Traffic evaluationTraffic(const plan::Plan &plan);

/// Returns whether gradients are reduced once a step, after its last
/// micro-batch of several, not after each.
bool reducesLast(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
