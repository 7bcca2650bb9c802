//===- RunOfPlan.h - what a plan says of its runs -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_RUNOFPLAN_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_RUNOFPLAN_H

#include "runtime/checkpoint/Index.h"
#include "runtime/plan/PlanFile.h"

namespace zerograph {

/// Returns how the plan updates (groups, schedule, clipping, scale of the
/// loss), as CheckpointRun has it.
std::string settingsOf(const plan::Plan &plan);
/// Returns the kind of its optimizer.
std::string optimizerOf(const plan::Plan &plan);

/// Returns a run of this plan that has made no step.
CheckpointRun runOf(const LoadedPlan &loaded);

/// Returns the run of this plan, written by one process, that is where `text`
/// says, as `withFields` reads it.
absl::StatusOr<CheckpointRun> runAt(const LoadedPlan &loaded,
                                    const std::string &text);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_RUNOFPLAN_H
