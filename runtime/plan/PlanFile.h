//===- PlanFile.h - plans as files ----------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_PLANFILE_H
#define ZEROGRAPH_RUNTIME_PLAN_PLANFILE_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// The format that this build writes, and the only one that it reads.
inline constexpr uint32_t kPlanVersion = 10;

struct LoadedPlan {
  plan::Plan plan;
  std::string hash_hex; ///< XXH3-128 of the message, 32 lower-case hex digits
};

/// The bytes of a plan file, the same for the same plan. An error if the plan
/// has 2 GiB or more, or text that is not UTF-8.
absl::StatusOr<std::string> serializePlan(const plan::Plan &plan);

/// Returns the hash of a loaded plan that ranks compare. Of folders that tell
/// what they hold (ContentName.h) it has the names alone: processes that each
/// compile a module have copies of its weights.
std::string hashOfRanks(plan::Plan plan);

/// The plan in the bytes of a plan file. What is not a plan, is of a newer
/// format, cut short, too long or damaged is refused, each with its own
/// message. That the plan makes sense is not checked: see Validate.h.
absl::StatusOr<LoadedPlan> parsePlan(absl::string_view bytes);

/// Writes the plan to `path`: the file is the old one or the whole new one,
/// never a part, whatever happens in between.
absl::Status writePlan(const plan::Plan &plan, const std::string &path);

/// Reads and parses the plan at `path`; errors begin with the path.
absl::StatusOr<LoadedPlan> readPlan(const std::string &path);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_PLANFILE_H
