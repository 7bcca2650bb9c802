//===- Traffic.h - the bytes that a plan's collectives move ---------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
#define ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H

#include "runtime/base/Checked.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// Bytes that one rank receives from the others in one run of `step`: (N - 1)
/// shards of each segment gathered or reduced, (N - 1) times the bytes of each
/// scalar summed; 0 for what is no collective. The plan must be valid.
Checked receivedBytes(const plan::Plan &plan, const plan::Step &step);

/// Bytes that one rank receives in one step of training, by kind of
/// collective: all micro-batches.
struct Traffic {
  Checked gather = 0;
  Checked reduce = 0;
  Checked scalar = 0;
};
Traffic trafficOf(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_TRAFFIC_H
