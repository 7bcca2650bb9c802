//===- InspectHeader.h - what a plan was compiled with --------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECTHEADER_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECTHEADER_H

#include "runtime/plan/PlanFile.h"

#include <nlohmann/json.hpp>

namespace zerograph {

/// The part of a report that says what a plan is for and what it was compiled
/// with: model, target, ranks, optimizer, schedule, inputs.
nlohmann::ordered_json headerJson(const LoadedPlan &loaded);

/// Of a whole report, as the lines that its text begins with.
std::string headerText(const nlohmann::ordered_json &report);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECTHEADER_H
