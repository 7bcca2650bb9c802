//===- ReduceScatter.cpp - each rank gets its part of a sum of gradients --===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/steps/Kinds.h"

namespace zerograph {
namespace {

/// Accesses: the whole segment, the rank's part of the sum, staging if any.
enum { kWhole, kShard, kStaging };

class ReduceScatter final : public CollectiveStep {
public:
  absl::string_view name() const override { return "reduce_scatter"; }

  absl::Status validateOperands(const plan::Plan &plan,
                                const plan::Step &step) const override {
    const plan::ReduceScatter &op = step.reduce_scatter();
    if (op.unit() < 0 || op.unit() >= plan.units_size()) {
      return steps::invalid("names unit ", op.unit(), " of ",
                            plan.units_size());
    }
    const plan::Unit &unit = plan.units(op.unit());
    if (op.segment() < 0 || op.segment() >= unit.segments_size()) {
      return steps::invalid("names segment ", op.segment(), " of ",
                            unit.segments_size());
    }
    bool staged = !op.any_order() || op.accumulate();
    ZG_RETURN_IF_ERROR(steps::needAccesses(step, staged ? 3 : 2));
    ZG_RETURN_IF_ERROR(steps::needMode(step, kWhole, {plan::READ}));
    ZG_RETURN_IF_ERROR(steps::needMode(
        step, kShard, {op.accumulate() ? plan::READ_WRITE : plan::WRITE}));
    ZG_RETURN_IF_ERROR(needReducible(op.wire(), op.accumulator()));
    ZG_RETURN_IF_ERROR(steps::needSegment(
        plan, step, kWhole, kShard, unit.segments(op.segment()).elements(),
        op.wire(), op.accumulator()));
    if (op.accumulate()) {
      ZG_RETURN_IF_ERROR(steps::needApart(plan, step, kWhole, kShard));
    }
    ZG_RETURN_IF_ERROR(needChunks(plan, step));
    return staged ? needStaging(plan, step) : absl::OkStatus();
  }

  /// The old content of staging doesn't matter.
  Effect effect(const plan::Step &step, int access) const override {
    return access == kStaging ? Effect{false, true}
                              : StepKind::effect(step, access);
  }

  plan::ElementType type(const plan::Plan &, const plan::Step &step,
                         int access) const override {
    const plan::ReduceScatter &op = step.reduce_scatter();
    return access == kWhole   ? op.wire()
           : access == kShard ? op.accumulator()
                              : plan::ELEMENT_INVALID;
  }

  void transfer(const plan::Step &step, ValueState &state) const override {
    const plan::ReduceScatter &op = step.reduce_scatter();
    UnitPart whole =
        state.parts().segment(op.unit(), op.segment(), kGradientRole);
    state.expect(step.accesses(kWhole), whole);
    state.expect(step.accesses(kShard),
                 state.parts().shardOf(op.unit(), op.segment(), kGradientRole,
                                       step.axes()));
    if (step.accesses_size() > kStaging) {
      state.expect(step.accesses(kStaging), std::nullopt);
    }
    Terms terms = state.read(step.accesses(kWhole)).terms;
    if (terms == Terms::Zero || terms == Terms::Unknown) {
      terms = Terms::This; // gradients that are 0 count too
    }
    state.reduce(step.accesses(kWhole), whole);
    writeSum(step, kShard, {Sharing::Sharded, terms}, state);
  }

  Traffic traffic(const plan::Plan &plan,
                  const plan::Step &step) const override {
    Traffic traffic;
    // Contributions travel, each as large as the shard is in the wire's type.
    uint32_t ranks = Mesh(plan).groupSize(step.axes());
    traffic.reduce =
        Checked(ranks - 1) * (step.accesses(kWhole).bytes() / ranks);
    return traffic;
  }

  /// Staging takes what the others send or, where the library adds up, the sum.
  Cost cost(const plan::Plan &plan, const plan::Step &step) const override {
    Cost cost;
    for (int i : {kWhole, kShard}) {
      move(plan, step, i, effect(step, i), step.accesses(i).bytes(), cost);
    }
    if (step.accesses_size() > kStaging) {
      Checked bytes = step.reduce_scatter().any_order()
                          ? Checked(step.accesses(kShard).bytes())
                          : traffic(plan, step).reduce;
      move(plan, step, kStaging, {true, true}, bytes, cost);
    }
    return cost;
  }

private:
  /// A chunk is whole elements; the library takes the shard as one.
  static absl::Status needChunks(const plan::Plan &plan,
                                 const plan::Step &step) {
    const plan::ReduceScatter &op = step.reduce_scatter();
    uint64_t shard = step.accesses(kShard).bytes();
    if (op.any_order() && op.chunk_bytes() != shard) {
      return steps::invalid("adds up in any order in chunks of ",
                            op.chunk_bytes(), " bytes; it needs its shard's ",
                            shard);
    }
    if (op.any_order() && op.wire() != op.accumulator()) {
      return steps::invalid("adds up in any order and changes the type");
    }
    return absl::OkStatus();
  }

  static absl::Status needStaging(const plan::Plan &plan,
                                  const plan::Step &step) {
    const plan::ReduceScatter &op = step.reduce_scatter();
    uint64_t element = elementSize(op.wire());
    ZG_RETURN_IF_ERROR(
        steps::needMode(step, kStaging, {plan::WRITE, plan::READ_WRITE}));
    ZG_RETURN_IF_ERROR(steps::needAligned(plan, step, kStaging, element));
    // The library leaves the sum alone.
    uint32_t ranks = op.any_order() ? 1 : Mesh(plan).groupSize(step.axes());
    uint64_t staging = step.accesses(kStaging).bytes();
    if (op.chunk_bytes() == 0 || op.chunk_bytes() % element != 0 ||
        !(Checked(op.chunk_bytes()) * ranks).atMost(staging)) {
      return steps::invalid("exchanges chunks of ", op.chunk_bytes(),
                            " bytes, not whole elements or more than its "
                            "staging of ",
                            staging, " bytes holds for ", ranks, " ranks");
    }
    ZG_RETURN_IF_ERROR(steps::needApart(plan, step, kWhole, kStaging));
    return steps::needApart(plan, step, kShard, kStaging);
  }
};

} // namespace

ZG_STEP_KIND(ReduceScatter, reduceScatter)

} // namespace zerograph
