//===- Totals.h - the numbers that ranks add up -----------------*- C++ -*-===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_TOTALS_H
#define ZEROGRAPH_RUNTIME_PLAN_TOTALS_H

#include "runtime/plan/plan.pb.h"

#include <vector>

namespace zerograph {

/// One that a plan has, and what must hold of it.
struct KnownTotal {
  const plan::Total *total; // the plan's
  const char *what;         // "the loss"
  /// That it must have; ELEMENT_INVALID: f32 or f64.
  plan::ElementType type = plan::ELEMENT_INVALID;
  /// Made by micro-batches that are evaluated, not by those that train.
  bool evaluated = false;
};

/// Those that a plan has, in a fixed order. A plan that runs forward has none.
std::vector<KnownTotal> totalsOf(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_TOTALS_H
