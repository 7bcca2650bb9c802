//===- AllReduce.cpp - scalars are added up over ranks --------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/steps/Kinds.h"

namespace zerograph {
namespace {

/// Access 2i are this rank's values, 2i + 1 the sum; one more is staging.
class AllReduce final : public CollectiveStep {
public:
  absl::string_view name() const override { return "all_reduce"; }

  absl::Status validateOperands(const plan::Plan &plan,
                                const plan::Step &step) const override {
    const plan::AllReduce &op = step.all_reduce();
    if (step.accesses_size() < 2) {
      return steps::invalid("sums in ", step.accesses_size(),
                            " accesses; it needs pairs of values and sums");
    }
    ZG_RETURN_IF_ERROR(needReducible(op.wire(), op.accumulator()));
    if (op.wire() != op.accumulator()) {
      return steps::invalid("changes the type of what it adds up");
    }
    uint64_t element = elementSize(op.wire());
    for (int i = 0; i < pairedAccesses(step); i += 2) {
      ZG_RETURN_IF_ERROR(steps::needMode(step, i, {plan::READ}));
      ZG_RETURN_IF_ERROR(steps::needMode(step, i + 1, {plan::READ_WRITE}));
      ZG_RETURN_IF_ERROR(steps::needAligned(plan, step, i, element));
      ZG_RETURN_IF_ERROR(steps::needAligned(plan, step, i + 1, element));
      uint64_t bytes = step.accesses(i).bytes();
      if (bytes != step.accesses(i + 1).bytes() || bytes % element != 0) {
        return steps::invalid("values of ", bytes, " bytes and their sum of ",
                              step.accesses(i + 1).bytes(),
                              " bytes differ or are no whole elements");
      }
    }
    for (int i = 1; i < step.accesses_size(); i += 2) {
      for (int j = 0; j < step.accesses_size(); ++j) {
        if (i != j) {
          ZG_RETURN_IF_ERROR(steps::needApart(plan, step, j, i));
        }
      }
    }
    return needStaging(plan, step, element);
  }

  /// The old content of staging doesn't matter.
  Effect effect(const plan::Step &step, int access) const override {
    return isStaging(step, access) ? Effect{false, true}
                                   : StepKind::effect(step, access);
  }

  plan::ElementType type(const plan::Plan &, const plan::Step &step,
                         int access) const override {
    return isStaging(step, access) ? plan::ELEMENT_INVALID
           : access % 2 == 0       ? step.all_reduce().wire()
                                   : step.all_reduce().accumulator();
  }

  void transfer(const plan::Step &step, ValueState &state) const override {
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (i % 2 == 1 || isStaging(step, i)) {
        state.expect(step.accesses(i), std::nullopt);
      }
    }
    for (int i = 1; i < step.accesses_size(); i += 2) {
      writeSum(step, i, {}, state);
    }
  }

  Traffic traffic(const plan::Plan &plan,
                  const plan::Step &step) const override {
    Traffic traffic;
    traffic.scalar = fromOthers(plan, step);
    return traffic;
  }

  /// Staging takes what the others send.
  Cost cost(const plan::Plan &plan, const plan::Step &step) const override {
    Cost cost;
    for (int i = 0; i < step.accesses_size(); ++i) {
      bool staging = isStaging(step, i);
      move(plan, step, i, staging ? Effect{true, true} : effect(step, i),
           staging ? traffic(plan, step).scalar
                   : Checked(step.accesses(i).bytes()),
           cost);
    }
    return cost;
  }

private:
  static bool isStaging(const plan::Step &step, int access) {
    return access == pairedAccesses(step);
  }

  /// If there is any, it has room for each rank's values, one array after the
  /// other.
  static absl::Status needStaging(const plan::Plan &plan,
                                  const plan::Step &step, uint64_t element) {
    int staging = pairedAccesses(step);
    if (staging == step.accesses_size()) {
      return absl::OkStatus();
    }
    ZG_RETURN_IF_ERROR(
        steps::needMode(step, staging, {plan::WRITE, plan::READ_WRITE}));
    ZG_RETURN_IF_ERROR(steps::needAligned(plan, step, staging, element));
    Checked values = 0;
    for (int i = 0; i < staging; i += 2) {
      ZG_RETURN_IF_ERROR(steps::needApart(plan, step, i, staging));
      values = values + step.accesses(i).bytes();
    }
    uint32_t ranks = Mesh(plan).groupSize(step.axes());
    uint64_t bytes = step.accesses(staging).bytes();
    if (!(values * ranks).atMost(bytes)) {
      return steps::invalid("has staging of ", bytes, " bytes, fewer than the ",
                            "values of ", ranks, " ranks need");
    }
    return absl::OkStatus();
  }
};

} // namespace

ZG_STEP_KIND(AllReduce, allReduce)

} // namespace zerograph
