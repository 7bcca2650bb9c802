//===- Inspect.h - a plan explained ---------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECT_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECT_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanFile.h"

#include <nlohmann/json.hpp>

#include <string>

namespace zerograph {

/// The plan as one JSON object: what it is for; types; units and parameters;
/// memory by class and at each program's peak; collectives; traffic beside the
/// textbook's; what crosses between device and host; what is wasteful, of a
/// safe plan; every step. Sizes are bytes. An error if the plan is unsound.
absl::StatusOr<nlohmann::ordered_json> inspectPlan(const LoadedPlan &loaded);

/// How long a disk lasts that takes one rank's writes.
struct DiskUse {
  double terabytes = 0;    // that may be written to it; 0: not known
  double step_seconds = 0; // of training; 0: not known
};

/// As "disk" of the report: steps until all of that is written, bytes written a
/// day, days until then; of these, what is known. Nothing for a plan that
/// writes no file.
void addDiskUse(const DiskUse &use, nlohmann::ordered_json &report);

/// The same for people. `steps`: with the list of steps.
std::string inspectText(const nlohmann::ordered_json &report, bool steps);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECT_H
