//===- InspectPrecision.h - in which types a plan computes ----------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECTPRECISION_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECTPRECISION_H

#include "runtime/plan/plan.pb.h"

#include <nlohmann/json.hpp>

namespace zerograph {

/// Of a valid plan: how many products by the library take and give which types,
/// and in which types what forward leaves for backward is kept, by operator, in
/// bytes (which need not all live at once).
nlohmann::ordered_json precisionJson(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECTPRECISION_H
