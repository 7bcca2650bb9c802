//===- Traffic.h - the bytes that a plan's collectives move ---------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
#define ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H

#include "runtime/plan/steps/Step.h"

namespace zerograph {

/// In one step of training: all micro-batches. The plan must be valid.
Traffic trafficOf(const plan::Plan &plan);

/// In an evaluation, for one micro-batch of each rank; nothing where the plan
/// does not evaluate.
Traffic evaluationTraffic(const plan::Plan &plan);

/// Whether gradients are reduced once a step, behind its last micro-batch of
/// several, not after each.
bool reducesLast(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
