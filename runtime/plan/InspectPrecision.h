//===- InspectPrecision.h - in which types a plan computes ----------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECTPRECISION_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECTPRECISION_H

#include "runtime/plan/plan.pb.h"

#include <nlohmann/json.hpp>

namespace zerograph {

/// Of a valid plan: how many products and convolutions by the library, of the
/// programs of a step, take and give which types; and in which types what
/// forward leaves for backward is kept, in bytes (which need not all live at
/// once), by the name of what made it, numbers left out.
nlohmann::ordered_json precisionJson(const plan::Plan &plan);

/// Of a whole report, as the section of its text; empty where no parameter has
/// 16 bits.
std::string precisionText(const nlohmann::ordered_json &report);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECTPRECISION_H
