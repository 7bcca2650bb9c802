//===- Plan.h - a plan of the C interface ---------------------------------===//

#ifndef ZEROGRAPH_API_PLAN_H
#define ZEROGRAPH_API_PLAN_H

#include "api/Calls.h"
#include "tools/cli/Processes.h"

#include <memory>

/// Trainers share the plan.
struct zg_plan {
  std::shared_ptr<const zerograph::CompiledPlan> made;
  zerograph::api::Owner owner;
};

namespace zerograph::api {

/// Returns the processes that this one was started with, joined by the first
/// call and left when the process ends; null where it is alone.
absl::StatusOr<std::shared_ptr<Processes>> joinProcesses(double deadline);

} // namespace zerograph::api

#endif // ZEROGRAPH_API_PLAN_H
