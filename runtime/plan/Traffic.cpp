//===- Traffic.cpp - the bytes that a plan's collectives move -------------===//

#include "runtime/plan/Traffic.h"

#include "runtime/plan/Describe.h"

namespace zerograph {

Checked receivedBytes(const plan::Plan &plan, const plan::Step &step) {
  Checked others = plan.world() - 1;
  if (step.has_reduce_scatter()) {
    return others * step.accesses(1).bytes();
  }
  Checked sum = 0;
  if (step.has_all_gather() || step.has_all_reduce()) {
    for (int i = 0; i < step.accesses_size(); i += 2) {
      sum = sum + others * step.accesses(i).bytes();
    }
  }
  return sum;
}

Traffic trafficOf(const plan::Plan &plan) {
  Traffic traffic;
  for (const plan::Program &program : plan.programs()) {
    Checked runs = runsPerStep(plan, program);
    for (const plan::Step &step : program.steps()) {
      Checked bytes = runs * receivedBytes(plan, step);
      if (step.has_all_gather()) {
        traffic.gather = traffic.gather + bytes;
      } else if (step.has_reduce_scatter()) {
        traffic.reduce = traffic.reduce + bytes;
      } else {
        traffic.scalar = traffic.scalar + bytes;
      }
    }
  }
  return traffic;
}

} // namespace zerograph
