//===- Traffic.cpp - the bytes that a plan moves --------------------------===//

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

static plan::StreamKind streamKindOf(const plan::Plan &plan,
                                     const plan::Step &step) {
  return plan.streams(int(step.stream())).kind();
}

bool crosses(const plan::Plan &plan, const plan::Step &step) {
  plan::StreamKind kind = streamKindOf(plan, step);
  return step.has_copy() && (kind == plan::COPY_IN || kind == plan::COPY_OUT);
}

Crossing crossingOf(const plan::Plan &plan) {
  Crossing sum;
  for (const plan::Program &program : plan.programs()) {
    Checked runs = runsPerStep(plan, program);
    for (const plan::Step &step : program.steps()) {
      if (crosses(plan, step)) {
        bool down = streamKindOf(plan, step) == plan::COPY_OUT;
        Checked &side = down ? sum.down : sum.up;
        side = side + runs * step.accesses(0).bytes();
      }
    }
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
