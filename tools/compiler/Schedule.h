//===- Schedule.h - options as a plan's schedule, and loss scale ----------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_SCHEDULE_H
#define ZEROGRAPH_TOOLS_COMPILER_SCHEDULE_H

#include "options/Options.h"
#include "runtime/plan/plan.pb.h"

#include <optional>

namespace zerograph {

/// The fields that the kind uses, each the option of its name; an option that
/// was not given and has no default is not set.
plan::Schedule scheduleOf(const options::Compile &options);

/// Returns the loss scale; none unless the precision needs one.
std::optional<plan::LossScale> lossScaleOf(const options::Compile &options);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_SCHEDULE_H
