//===- Inspect.h - a plan explained ---------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECT_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECT_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanFile.h"

#include <nlohmann/json.hpp>

#include <string>

namespace zerograph {

/// The plan as one JSON object: what it is for; units and parameters; memory
/// by class and at each program's peak; collectives; traffic beside the
/// textbook's; what crosses between device and host; what is wasteful, of a
/// safe plan; every step. Sizes are bytes. An error if the plan is unsound.
absl::StatusOr<nlohmann::ordered_json> inspectPlan(const LoadedPlan &loaded);

/// The same for people. `steps`: with the list of steps.
std::string inspectText(const nlohmann::ordered_json &report, bool steps);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECT_H
