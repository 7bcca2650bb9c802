//===- Schedule.h - options as a plan's schedule --------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_SCHEDULE_H
#define ZEROGRAPH_TOOLS_COMPILER_SCHEDULE_H

#include "options/Options.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// The fields that the kind uses, each the option of its name; an option that
/// was not given and has no default is not set.
plan::Schedule scheduleOf(const options::Compile &options);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_SCHEDULE_H
