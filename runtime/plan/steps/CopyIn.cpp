//===- CopyIn.cpp - inputs and scalars, from a slot to their places -------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Checks.h"
#include "runtime/plan/steps/Step.h"

#include <algorithm>

namespace zerograph {
namespace {

/// Accesses: two slots, then what is written.
constexpr int kSlots = 2;
/// The alignment of each part of a slot.
constexpr uint64_t kAlignment = 64;

bool isWhole(const plan::Plan &plan, const plan::Access &access) {
  return access.bytes() == plan.slices(int(access.slice())).bytes();
}

bool arrives(const plan::Plan &plan, uint32_t slice) {
  auto in = [&](const auto &of) { return of.slice() == slice; };
  return std::any_of(plan.inputs().begin(), plan.inputs().end(), in) ||
         std::any_of(plan.scalars().begin(), plan.scalars().end(), in);
}

/// Accesses 0 and 1 are the slots of one program: verify knows which.
absl::Status needSlots(const plan::Plan &plan, const plan::Step &step) {
  for (const plan::Program &program : plan.programs()) {
    if (program.slots_size() == kSlots &&
        step.accesses(0).slice() == program.slots(0) &&
        step.accesses(1).slice() == program.slots(1)) {
      return isWhole(plan, step.accesses(0)) && isWhole(plan, step.accesses(1))
                 ? absl::OkStatus()
                 : steps::invalid("reads its slots in part");
    }
  }
  return steps::invalid("reads ", describeSlice(plan, step.accesses(0).slice()),
                        " and ", describeSlice(plan, step.accesses(1).slice()),
                        ", which are not the two slots of a program");
}

class CopyIn final : public StepKind {
public:
  absl::string_view name() const override { return "copy_in"; }

  absl::Status validate(const plan::Plan &plan,
                        const plan::Step &step) const override {
    const auto &offsets = step.copy_in().offsets();
    if (offsets.empty()) {
      return steps::invalid("copies nothing in");
    }
    ZG_RETURN_IF_ERROR(steps::needAccesses(step, kSlots + offsets.size()));
    for (int i = 0; i < step.accesses_size(); ++i) {
      ZG_RETURN_IF_ERROR(
          steps::needMode(step, i, {i < kSlots ? plan::READ : plan::WRITE}));
    }
    ZG_RETURN_IF_ERROR(needSlots(plan, step));
    Checked end = 0; // of what lies before in the slot
    for (int i = 0; i < offsets.size(); ++i) {
      const plan::Access &to = step.accesses(kSlots + i);
      if (!arrives(plan, to.slice()) || !isWhole(plan, to)) {
        return steps::invalid("writes ", describeSlice(plan, to.slice()),
                              ", which is no input or scalar, or not whole");
      }
      if (offsets[i] % kAlignment != 0 || !end.atMost(offsets[i])) {
        return steps::invalid("copies ", describeSlice(plan, to.slice()),
                              " from byte ", offsets[i],
                              " of the slot; expected a multiple of ",
                              kAlignment, " behind what is before it");
      }
      end = Checked(offsets[i]) + to.bytes();
    }
    if (!end.atMost(step.accesses(0).bytes())) {
      return steps::invalid("copies more than the ", step.accesses(0).bytes(),
                            " bytes of its slot");
    }
    return needOnce(plan, step);
  }

  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind stream) const override {
    return stream == plan::COMPUTE || stream == plan::COPY_IN
               ? ""
               : "streams of kind compute or copy_in copy in";
  }

  /// A run reads one of the slots, and of it what it copies.
  Cost cost(const plan::Plan &plan, const plan::Step &step) const override {
    Cost cost;
    for (int i = kSlots; i < step.accesses_size(); ++i) {
      uint64_t bytes = step.accesses(i).bytes();
      move(plan, step, 0, {true, false}, bytes, cost);
      move(plan, step, i, {false, true}, bytes, cost);
    }
    return cost;
  }

  void transfer(const plan::Step &step, ValueState &state) const override {
    for (int i = kSlots; i < step.accesses_size(); ++i) {
      state.arrive(step.accesses(i));
    }
  }

private:
  static absl::Status needOnce(const plan::Plan &plan, const plan::Step &step) {
    for (int i = kSlots; i < step.accesses_size(); ++i) {
      for (int j = kSlots; j < i; ++j) {
        ZG_RETURN_IF_ERROR(steps::needApart(plan, step, j, i));
      }
    }
    return absl::OkStatus();
  }
};

} // namespace

ZG_STEP_KIND(CopyIn, copyIn)

} // namespace zerograph
