//===- Verify.cpp - is a plan safe to run? --------------------------------===//

#include "runtime/plan/Verify.h"

#include "runtime/plan/Validate.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph {

absl::Status verifyPlan(const plan::Plan &plan) {
  ZG_RETURN_IF_ERROR(validatePlan(plan));
  verify::Subject subject{plan, {}};
  for (const plan::Program &program : plan.programs()) {
    subject.orders.emplace_back(program);
  }
  using Check = void (*)(const verify::Subject &, verify::Problems &);
  constexpr Check kChecks[] = {
      verify::checkStreams,      verify::checkCollectiveOrder,
      verify::checkRaces,        verify::checkLifetimes,
      verify::checkDefinitions,  verify::checkTypes,
      verify::checkMoves,        verify::checkReductions,
      verify::checkAccumulators, verify::checkUpdates,
      verify::checkSharding,     verify::checkAgreement,
      verify::checkTraffic,      verify::checkArenas,
      verify::checkUnread};
  std::string text;
  size_t dropped = 0;
  for (Check check : kChecks) {
    verify::Problems problems;
    check(subject, problems);
    for (const std::string &line : problems.kept()) {
      absl::StrAppend(&text, "\n  ", line);
    }
    dropped += problems.dropped();
  }
  if (text.empty()) {
    return absl::OkStatus();
  }
  if (dropped != 0) {
    absl::StrAppend(&text, "\n  and ", dropped, " more");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the plan is not safe to run:", text));
}

} // namespace zerograph
