//===- Traffic.h - the bytes that a plan moves ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
#define ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H

#include "runtime/plan/steps/Step.h"

namespace zerograph {

/// In one step of training: all micro-batches. The plan must be valid.
Traffic trafficOf(const plan::Plan &plan);

/// Bytes that a rank's device and its host give each other.
struct Crossing {
  Checked down = 0; // to the host
  Checked up = 0;   // to the device
};

/// In one step of training. Inputs and scalars are not counted.
Crossing crossingOf(const plan::Plan &plan);

/// Whether the step brings bytes to the other side.
bool crosses(const plan::Plan &plan, const plan::Step &step);

/// In an evaluation, for one micro-batch of each rank; nothing where the plan
/// does not evaluate.
Traffic evaluationTraffic(const plan::Plan &plan);

/// Whether gradients are reduced once a step, behind its last micro-batch of
/// several, not after each.
bool reducesLast(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
