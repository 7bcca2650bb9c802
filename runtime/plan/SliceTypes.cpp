//===- SliceTypes.cpp - of what type the bytes of slices are --------------===//

#include "runtime/plan/SliceTypes.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/Totals.h"
#include "runtime/plan/steps/Step.h"

#include "absl/strings/str_cat.h"

namespace zerograph {
namespace {

using Differ = std::function<void(const std::string &)>;

class Types {
public:
  Types(const plan::Plan &plan, const Differ &differ)
      : plan(plan), differ(differ), known(plan.slices_size()) {}

  void declarations() {
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        note(state.slice(), state.type(), "state \"", state.role(),
             "\" of unit ", unit.name());
      }
    }
    for (const plan::Input &input : plan.inputs()) {
      note(input.slice(), input.type(), "input ", input.name());
    }
    for (const plan::Output &output : plan.outputs()) {
      note(output.slice(), output.type(), "output ", output.name());
    }
    for (const plan::Scalar &scalar : plan.scalars()) {
      note(scalar.slice(), scalar.type(), "scalar ", nameOf(scalar.kind()));
    }
    for (const KnownTotal &known : totalsOf(plan)) {
      note(known.total->slice(), known.total->type(), known.what);
    }
    if (plan.has_gradient_norm()) {
      note(plan.gradient_norm(), plan::F64, "the gradients' norm");
    }
  }

  void accesses(int p, int s, const plan::Step &step) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      note(step.accesses(i).slice(), kindOf(step).type(plan, step, i),
           describeStep(plan, p, s));
    }
  }

  /// After all others: what is copied keeps its type.
  void copies(int p, int s, const plan::Step &step) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (int from = kindOf(step).copied(i); from >= 0) {
        note(step.accesses(i).slice(), known[step.accesses(from).slice()].type,
             describeStep(plan, p, s));
      }
    }
  }

  std::vector<plan::ElementType> result() const {
    std::vector<plan::ElementType> types;
    for (const Known &slice : known) {
      types.push_back(slice.type);
    }
    return types;
  }

private:
  struct Known {
    plan::ElementType type = plan::ELEMENT_INVALID;
    std::string by;
  };

  template <typename... By>
  void note(uint32_t slice, plan::ElementType type, const By &...by) {
    if (type == plan::ELEMENT_INVALID ||
        plan.slices(int(slice)).slice_class() == plan::STAGING) {
      return;
    }
    Known &old = known[slice];
    if (old.type == plan::ELEMENT_INVALID) {
      old = {type, absl::StrCat(by...)};
    } else if (old.type != type && differ) {
      differ(absl::StrCat(by..., " takes ", describeSlice(plan, slice), " for ",
                          nameOf(type), ", ", old.by, " for ",
                          nameOf(old.type)));
    }
  }

  const plan::Plan &plan;
  const Differ &differ;
  std::vector<Known> known; // by slice
};

} // namespace

std::vector<plan::ElementType> sliceTypes(const plan::Plan &plan,
                                          const Differ &differ) {
  Types types(plan, differ);
  types.declarations();
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    types.accesses(p, s, step);
  });
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    types.copies(p, s, step);
  });
  return types.result();
}

} // namespace zerograph
