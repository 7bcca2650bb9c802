//===- AllGather.cpp - every rank gets the whole segments of a unit -------===//

#include "runtime/plan/steps/Kinds.h"

namespace zerograph {
namespace {

/// Access 2i is the rank's part of segment i, 2i + 1 the whole of it.
class AllGather final : public CollectiveStep {
public:
  absl::string_view name() const override { return "all_gather"; }

  absl::Status validateOperands(const plan::Plan &plan,
                                const plan::Step &step) const override {
    int unit = step.all_gather().unit();
    if (unit < 0 || unit >= plan.units_size()) {
      return steps::invalid("names unit ", unit, " of ", plan.units_size());
    }
    const auto &segments = plan.units(unit).segments();
    ZG_RETURN_IF_ERROR(steps::needAccesses(step, 2 * segments.size()));
    for (int i = 0; i < segments.size(); ++i) {
      ZG_RETURN_IF_ERROR(steps::needMode(step, 2 * i, {plan::READ}));
      ZG_RETURN_IF_ERROR(steps::needMode(step, 2 * i + 1, {plan::WRITE}));
      ZG_RETURN_IF_ERROR(steps::needSegment(
          plan, step, 2 * i + 1, 2 * i, segments[i].elements(),
          step.all_gather().element_type(), step.all_gather().element_type()));
    }
    return absl::OkStatus();
  }

  plan::ElementType type(const plan::Plan &, const plan::Step &step,
                         int) const override {
    return step.all_gather().element_type();
  }

  /// Expects all parts and segments in the role of the first part.
  void transfer(const plan::Step &step, ValueState &state) const override {
    std::optional<UnitPart> first = state.parts().of(step.accesses(0));
    absl::string_view role = first ? first->role : kParamRole;
    int unit = step.all_gather().unit();
    for (int i = 0; i < step.accesses_size(); i += 2) {
      const plan::Access &shard = step.accesses(i);
      const plan::Access &whole = step.accesses(i + 1);
      state.expect(shard,
                   state.parts().shardOf(unit, i / 2, role, step.axes()));
      state.expect(whole, state.parts().segment(unit, i / 2, role));
      Value value = state.read(shard);
      value.sharing = value.sharing >= Sharing::Partial ? Sharing::Varied
                                                        : Sharing::Replicated;
      state.write(whole, value);
    }
  }

  Traffic traffic(const plan::Plan &plan,
                  const plan::Step &step) const override {
    Traffic traffic;
    traffic.gather = fromOthers(plan, step);
    return traffic;
  }
};

} // namespace

ZG_STEP_KIND(AllGather, allGather)

} // namespace zerograph
