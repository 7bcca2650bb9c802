//===- ValidateMeanings.cpp - what the runtime keeps in which slice -------===//
//
// Around a program the runtime itself reads and writes slices. Two meanings in
// one slice would overwrite each other without any step being wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Validate.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Totals.h"
#include "runtime/plan/steps/Checks.h"

#include <algorithm>
#include <initializer_list>
#include <map>

namespace zerograph {
namespace detail {
namespace {

using steps::invalid;

class Meanings {
public:
  explicit Meanings(const plan::Plan &plan) : plan(plan) {}

  absl::Status add(uint32_t slice, std::string meaning,
                   std::initializer_list<plan::SliceClass> classes) {
    plan::SliceClass found = plan.slices(int(slice)).slice_class();
    if (std::find(classes.begin(), classes.end(), found) == classes.end()) {
      return invalid(describeSlice(plan, slice), " holds ", meaning,
                     " and has class ", nameOf(found), "; expected ",
                     nameOf(*classes.begin()));
    }
    auto [first, added] = meanings.try_emplace(slice, meaning);
    if (!added) {
      return invalid(describeSlice(plan, slice), " holds ", first->second,
                     " and ", meaning, "; a slice holds one of them");
    }
    return absl::OkStatus();
  }

  /// Checks that what outlives a program has a meaning: else nobody sets it, or
  /// saves it.
  absl::Status needAll() const {
    for (int i = 0; i < plan.slices_size(); ++i) {
      if (plan.slices(i).carried() && meanings.count(uint32_t(i)) == 0) {
        return invalid(describeSlice(plan, i),
                       " is carried across programs and is no state, slot, "
                       "output, loss or stop flag");
      }
    }
    return absl::OkStatus();
  }

private:
  const plan::Plan &plan;
  std::map<uint32_t, std::string> meanings;
};

absl::Status addState(Meanings &meanings, const plan::Unit &unit,
                      const plan::State &state) {
  std::string meaning =
      absl::StrCat("state \"", state.role(), "\" of unit ", unit.name(),
                   ", segment ", state.segment());
  if (state.role() == "param") {
    return meanings.add(state.slice(), meaning, {plan::PARAM_SHARD});
  }
  if (state.role() == "grad") {
    return meanings.add(state.slice(), meaning, {plan::GRAD_SHARD, plan::GRAD});
  }
  return meanings.add(state.slice(), meaning, {plan::OPTIMIZER});
}

} // namespace

absl::Status validateMeanings(const plan::Plan &plan) {
  Meanings meanings(plan);
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      ZG_RETURN_IF_ERROR(addState(meanings, unit, state));
    }
  }
  for (const plan::Input &input : plan.inputs()) {
    ZG_RETURN_IF_ERROR(meanings.add(
        input.slice(), absl::StrCat("input ", input.name()), {plan::INPUT}));
  }
  for (const plan::Scalar &scalar : plan.scalars()) {
    ZG_RETURN_IF_ERROR(meanings.add(
        scalar.slice(), absl::StrCat("scalar \"", nameOf(scalar.kind()), "\""),
        {plan::SCALAR}));
  }
  for (const plan::Program &program : plan.programs()) {
    for (uint32_t slot : program.slots()) {
      ZG_RETURN_IF_ERROR(
          meanings.add(slot, absl::StrCat("a slot of \"", program.name(), "\""),
                       {plan::STAGING}));
    }
  }
  for (const plan::Output &output : plan.outputs()) {
    ZG_RETURN_IF_ERROR(meanings.add(output.slice(),
                                    absl::StrCat("output ", output.name()),
                                    {plan::OUTPUT}));
  }
  if (!isForward(plan)) {
    for (const KnownTotal &known : totalsOf(plan)) {
      ZG_RETURN_IF_ERROR(
          meanings.add(known.total->slice(), known.what, {plan::SCALAR}));
    }
    if (plan.has_gradient_norm()) {
      ZG_RETURN_IF_ERROR(meanings.add(plan.gradient_norm(),
                                      "the gradients' norm", {plan::SCALAR}));
    }
  }
  return meanings.needAll();
}

} // namespace detail
} // namespace zerograph
