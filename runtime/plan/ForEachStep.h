//===- ForEachStep.h - every step of a plan ---------------------*- C++ -*-===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_FOREACHSTEP_H
#define ZEROGRAPH_RUNTIME_PLAN_FOREACHSTEP_H

#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// Calls visit(p, s, step) for every step `s` of every program `p`, in issue
/// order.
template <typename Visit>
void forEachStep(const plan::Plan &plan, Visit visit) {
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      visit(p, s, plan.programs(p).steps(s));
    }
  }
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_FOREACHSTEP_H
