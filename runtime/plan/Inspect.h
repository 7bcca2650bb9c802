//===- Inspect.h - a plan explained ---------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECT_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECT_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanFile.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace zerograph {

/// Reports a plan without its steps and slices: what it was compiled with;
/// types; units and parameters; memory by class and at each program's peak;
/// traffic beside the textbook's; what a step costs; what is wasteful, of a
/// safe plan. Sizes are bytes. An error if the plan is unsound.
absl::StatusOr<nlohmann::ordered_json> inspectFacts(const LoadedPlan &loaded);

/// Reports that and every step, collective, transfer and slice.
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

/// A part of a report, as text for people.
struct InspectSection {
  const char *name; // of the option that shows it, without dashes
  const char *help;
  /// `exact`: sizes are bytes, and not "1.53 GiB".
  std::function<std::string(const nlohmann::ordered_json &report, bool exact)>
      text;
};

/// All of them, in the order in which they are printed.
const std::vector<InspectSection> &inspectSections();

/// The plan on one screen: at most 24 lines of 80 columns. An error if the plan
/// is unsound.
absl::StatusOr<std::string> inspectSummary(const LoadedPlan &loaded,
                                           bool exact);

/// Parts of it, each at most a line, of a valid plan: what it trains and how,
/// "device 1.53 GiB, pinned 12.0 MiB"; which cards or how much of the host's
/// memory it fits; what a rank receives in a step, and moves.
std::string planTitle(const plan::Plan &plan);
/// "model" and "846,592 parameters, all trained; f32", "step" and ...,
/// "update", "target".
std::vector<std::pair<std::string, std::string>>
planLines(const plan::Plan &plan);
std::string memoryLine(const plan::Plan &plan, bool exact);
std::string fitsLine(const plan::Plan &plan, bool exact);
std::string trafficLine(const plan::Plan &plan, bool exact);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECT_H
