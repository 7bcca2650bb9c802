//===- Verify.cpp - is a plan safe to run? --------------------------------===//

#include "runtime/plan/Verify.h"

#include "runtime/plan/Validate.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph {
namespace {

using Check = void (*)(const verify::VerifierContext &, verify::Findings &);

constexpr Check kChecks[] = {
    verify::checkStreams,     verify::checkCollectiveOrder,
    verify::checkRaces,       verify::checkLifetimes,
    verify::checkDefinitions, verify::checkStagedInputs,
    verify::checkTypes,       verify::checkValues,
    verify::checkTotals,      verify::checkUnread,
};

} // namespace

verify::VerifierContext::VerifierContext(const plan::Plan &plan)
    : plan(plan), mesh(plan), parts(plan), arrivals(stagedInputsOf(plan)),
      read_after(plan.slices_size()) {
  for (const plan::Program &program : plan.programs()) {
    orders.emplace_back(program);
  }
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      if (plan.dump_gradients() && state.role() == "grad") {
        read_after[state.slice()] = true;
      }
    }
  }
  for (const plan::Output &output : plan.outputs()) {
    read_after[output.slice()] = true;
  }
}

absl::StatusOr<std::vector<std::string>> findWaste(const plan::Plan &plan) {
  ZG_RETURN_IF_ERROR(validatePlan(plan));
  verify::VerifierContext context(plan);
  std::string text;
  size_t dropped = 0;
  std::vector<std::string> waste;
  for (Check check : kChecks) {
    verify::Findings findings;
    check(context, findings);
    for (const std::string &line : findings.problems.kept()) {
      absl::StrAppend(&text, "\n  ", line);
    }
    dropped += findings.problems.dropped();
    waste.insert(waste.end(), findings.waste.kept().begin(),
                 findings.waste.kept().end());
    if (size_t more = findings.waste.dropped(); more != 0) {
      waste.push_back(absl::StrCat("and ", more, " more of the kind"));
    }
  }
  if (text.empty()) {
    return waste;
  }
  if (dropped != 0) {
    absl::StrAppend(&text, "\n  and ", dropped, " more");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the plan is not safe to run:", text));
}

absl::Status verifyPlan(const plan::Plan &plan) {
  return findWaste(plan).status();
}

} // namespace zerograph
