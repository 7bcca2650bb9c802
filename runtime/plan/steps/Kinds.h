//===- Kinds.h - what several kinds of steps have in common ---------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_STEPS_KINDS_H
#define ZEROGRAPH_RUNTIME_PLAN_STEPS_KINDS_H

#include "runtime/plan/steps/Checks.h"
#include "runtime/plan/steps/Step.h"

namespace zerograph {

/// Computes, on all threads that the device has for a rank.
class ComputeStep : public StepKind {
public:
  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind stream) const final {
    return stream == plan::COMPUTE ? "" : "streams of kind compute compute";
  }
};

/// A call of the device's library: two operands of one type, a result, to which
/// it may add, and, as a fourth access, scratch.
class LibraryStep : public ComputeStep {
public:
  Effect effect(const plan::Step &step, int access) const final {
    return access == scratchOf(step) ? Effect{false, true}
                                     : StepKind::effect(step, access);
  }
  plan::ElementType type(const plan::Plan &, const plan::Step &step,
                         int access) const final {
    return access == scratchOf(step) ? plan::ELEMENT_INVALID
           : access >= kResult       ? resultType(step)
                                     : elementType(step);
  }

  /// A sum to which the call adds stays one.
  bool isLinear(const plan::Plan &, const plan::Step &step, int made,
                int access) const final {
    return made == kResult && access == kResult && effect(step, kResult).reads;
  }

  /// Working space stays in caches.
  Cost cost(const plan::Plan &plan, const plan::Step &step) const final {
    Cost cost;
    cost.launches = 1;
    std::array<Checked, 2> bytes = bytesRead(step);
    for (int i : {0, 1}) {
      move(plan, step, i, {true, false}, bytes[size_t(i)], cost);
    }
    move(plan, step, kResult, effect(step, kResult),
         step.accesses(kResult).bytes(), cost);
    if (hasBias(step)) {
      move(plan, step, kBias, {true, false}, step.accesses(kBias).bytes(),
           cost);
    }
    cost.operations[elementType(step)].multiplyAdds = multiplyAdds(step);
    return cost;
  }

protected:
  virtual Checked multiplyAdds(const plan::Step &step) const = 0;
  /// Returns the bytes that are read of each operand.
  virtual std::array<Checked, 2> bytesRead(const plan::Step &step) const {
    return {step.accesses(0).bytes(), step.accesses(1).bytes()};
  }

private:
  static constexpr int kResult = 2, kBias = 3;

  /// Returns whether an access after the result is a vector that is added to
  /// its rows, of its type.
  virtual bool hasBias(const plan::Step &) const { return false; }
  int scratchOf(const plan::Step &step) const {
    return hasBias(step) ? kBias + 1 : kBias;
  }
  virtual plan::ElementType elementType(const plan::Step &step) const = 0;
  virtual plan::ElementType resultType(const plan::Step &step) const {
    return elementType(step);
  }
};

/// Every rank of a group takes part, in the one order.
class CollectiveStep : public StepKind {
public:
  bool isCollective() const final { return true; }

  absl::Status validate(const plan::Plan &plan,
                        const plan::Step &step) const final {
    ZG_RETURN_IF_ERROR(steps::needGroup(plan, step));
    return validateOperands(plan, step);
  }

  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind stream) const final {
    return stream == plan::COLLECTIVE
               ? ""
               : "collectives are on streams of kind collective";
  }

protected:
  /// Writes a sum over ranks to access `sum`, added to what the step reads
  /// there. If that was the rank's own, so is the result.
  void writeSum(const plan::Step &step, int sum, Value value,
                ValueState &state) const {
    const plan::Access &access = step.accesses(sum);
    if (effect(step, sum).reads) {
      Value before = state.read(access);
      if (before.sharing >= Sharing::Partial) {
        value.sharing = Sharing::Varied;
      }
      if (before.terms == Terms::Earlier && value.terms == Terms::This) {
        value.terms = Terms::All;
      }
    }
    state.write(access, value);
  }

  virtual absl::Status validateOperands(const plan::Plan &plan,
                                        const plan::Step &step) const = 0;

  /// Without what comes after the pairs.
  static int pairedAccesses(const plan::Step &step) {
    return step.accesses_size() / 2 * 2;
  }

  /// Returns the bytes that a rank receives where each sends to all others what
  /// the first of every pair of accesses holds.
  static Checked fromOthers(const plan::Plan &plan, const plan::Step &step) {
    Checked bytes = 0;
    for (int i = 0; i < pairedAccesses(step); i += 2) {
      bytes = bytes + step.accesses(i).bytes();
    }
    return Checked(Mesh(plan).groupSize(step.axes()) - 1) * bytes;
  }
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_STEPS_KINDS_H
