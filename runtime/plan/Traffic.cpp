//===- Traffic.cpp - the bytes that a plan's collectives move -------------===//

#include "runtime/plan/Traffic.h"

#include "runtime/plan/Describe.h"

namespace zerograph {

Traffic trafficOf(const plan::Plan &plan) {
  Traffic sum;
  for (const plan::Program &program : plan.programs()) {
    Checked runs = runsPerStep(plan, program);
    for (const plan::Step &step : program.steps()) {
      Traffic once = kindOf(step).traffic(plan, step);
      sum.gather = sum.gather + runs * once.gather;
      sum.reduce = sum.reduce + runs * once.reduce;
      sum.scalar = sum.scalar + runs * once.scalar;
    }
  }
  return sum;
}

} // namespace zerograph
