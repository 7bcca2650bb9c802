//===- Traffic.cpp - the bytes that a plan's collectives move -------------===//

#include "runtime/plan/Traffic.h"

#include "runtime/plan/Describe.h"

namespace zerograph {

/// Adds what `runs` runs of the program move to `sum`.
static void add(const plan::Plan &plan, const plan::Program &program,
                Checked runs, Traffic &sum) {
  for (const plan::Step &step : program.steps()) {
    Traffic once = kindOf(step).traffic(plan, step);
    sum.gather = sum.gather + runs * once.gather;
    sum.reduce = sum.reduce + runs * once.reduce;
    sum.scalar = sum.scalar + runs * once.scalar;
  }
}

Traffic trafficOf(const plan::Plan &plan) {
  Traffic sum;
  for (const plan::Program &program : plan.programs()) {
    add(plan, program, runsPerStep(plan, program), sum);
  }
  return sum;
}

Traffic evaluationTraffic(const plan::Plan &plan) {
  Traffic sum;
  for (const plan::Program &program : plan.programs()) {
    if (program.kind() == plan::EVALUATE) {
      add(plan, program, 1, sum);
    }
  }
  return sum;
}

bool reducesLast(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (program.kind() == plan::UPDATE && step.has_reduce_scatter()) {
        return true;
      }
    }
  }
  return false;
}

} // namespace zerograph
