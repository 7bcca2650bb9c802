//===- Launch.cpp - a generated kernel ------------------------------------===//
//
// A kernel's machine code trusts its buffers. What it touches is stated with
// it, and every launch must bring just that.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/steps/Kinds.h"

#include <algorithm>

namespace zerograph {
namespace {

const plan::Kernel &kernelOf(const plan::Plan &plan, const plan::Step &step) {
  return plan.kernels(int(step.launch().kernel()));
}

/// Checks that what a launch writes is apart from the rest, except in-place
/// results.
absl::Status needApartOrInPlace(const plan::Plan &plan, const plan::Step &step,
                                int read, int written) {
  const plan::Kernel &kernel = kernelOf(plan, step);
  if (written >= kernel.operands_size() || read >= kernel.operands_size()) {
    return steps::needApart(plan, step, read, written); // scratch
  }
  Range a = arenaRange(plan, step.accesses(read));
  Range b = arenaRange(plan, step.accesses(written));
  if (!overlap(Mesh(plan), a, b)) {
    return absl::OkStatus();
  }
  const auto &places = kernel.operands(written).in_place();
  bool exactly = same(a, b);
  if (exactly &&
      std::find(places.begin(), places.end(), uint32_t(read)) != places.end()) {
    return absl::OkStatus();
  }
  return steps::invalid("access ", written, ", written to ",
                        describeSlice(plan, step.accesses(written).slice()),
                        ", shares bytes with access ", read, " to ",
                        describeSlice(plan, step.accesses(read).slice()),
                        "; kernel ", kernel.symbol(), " wants them ",
                        exactly ? "apart" : "apart or the very same");
}

class Launch final : public ComputeStep {
public:
  absl::string_view name() const override { return "launch"; }

  absl::Status validate(const plan::Plan &plan,
                        const plan::Step &step) const override {
    if (step.launch().kernel() >= uint32_t(plan.kernels_size())) {
      return steps::invalid("launches kernel ", step.launch().kernel(), " of ",
                            plan.kernels_size());
    }
    const plan::Kernel &kernel = kernelOf(plan, step);
    uint32_t device = plan.modules(int(kernel.module())).device();
    if (plan.streams(int(step.stream())).device() != device) {
      return steps::invalid("launches kernel ", kernel.symbol(), " of device ",
                            device, " on a stream of another");
    }
    ZG_RETURN_IF_ERROR(needOperands(plan, step, kernel));
    for (int i = 0; i < step.accesses_size(); ++i) {
      for (int j = 0;
           step.accesses(i).mode() != plan::READ && j < step.accesses_size();
           ++j) {
        // Checks two that are written once.
        if (i != j && (j < i || step.accesses(j).mode() == plan::READ)) {
          ZG_RETURN_IF_ERROR(needApartOrInPlace(plan, step, j, i));
        }
      }
    }
    return absl::OkStatus();
  }

  plan::ElementType type(const plan::Plan &plan, const plan::Step &step,
                         int access) const override {
    const plan::Kernel &kernel = kernelOf(plan, step);
    return access < kernel.operands_size() ? kernel.operands(access).type()
                                           : plan::ELEMENT_INVALID;
  }

  bool isLinear(const plan::Plan &plan, const plan::Step &step, int made,
                int access) const override {
    const plan::Kernel &kernel = kernelOf(plan, step);
    if (made >= kernel.operands_size()) {
      return false; // scratch
    }
    const auto &linear = kernel.operands(made).linear_in();
    return std::find(linear.begin(), linear.end(), uint32_t(access)) !=
           linear.end();
  }

  /// Scratch is written by one launch of the kernel and read by the next.
  Cost cost(const plan::Plan &plan, const plan::Step &step) const override {
    const plan::Kernel &kernel = kernelOf(plan, step);
    Cost cost;
    cost.launches = kernel.has_cuda() ? kernel.cuda().launches_size() : 1;
    for (int i = 0; i < step.accesses_size(); ++i) {
      bool scratch = i >= kernel.operands_size();
      move(plan, step, i, scratch ? Effect{true, true} : effect(step, i),
           scratch ? kernel.scratch_bytes()
                   : movedOf(plan, step, kernel.operands(i), i),
           cost);
    }
    for (const plan::Operations &operations : kernel.operations()) {
      Cost more;
      more.operations[operations.type()] = {operations.multiply_adds(),
                                            operations.simple(),
                                            operations.special()};
      cost.add(more);
    }
    return cost;
  }

private:
  /// Returns the bytes that a launch moves of operand `number`.
  static uint64_t movedOf(const plan::Plan &plan, const plan::Step &step,
                          const plan::Operand &operand, int number) {
    uint64_t apart = std::min(operand.moved_apart(), operand.moved());
    for (int i = 0; apart > 0 && i < step.accesses_size(); ++i) {
      if (step.accesses(i).mode() != operand.mode() &&
          same(arenaRange(plan, step.accesses(i)),
               arenaRange(plan, step.accesses(number)))) {
        return operand.moved() - apart;
      }
    }
    return operand.moved();
  }

  static absl::Status needOperands(const plan::Plan &plan,
                                   const plan::Step &step,
                                   const plan::Kernel &kernel) {
    int operands = kernel.operands_size();
    bool scratch = kernel.scratch_bytes() != 0;
    if (step.accesses_size() != operands + scratch) {
      return steps::invalid("has ", step.accesses_size(), " accesses; kernel ",
                            kernel.symbol(), " has ", operands, " operands",
                            scratch ? " and scratch" : "");
    }
    for (int i = 0; i < operands; ++i) {
      const plan::Access &access = step.accesses(i);
      const plan::Operand &operand = kernel.operands(i);
      if (access.bytes() != operand.bytes() ||
          access.mode() != operand.mode()) {
        return steps::invalid(
            "access ", i, " to ", describeSlice(plan, access.slice()), " is ",
            nameOf(access.mode()), " of ", access.bytes(), " bytes; operand ",
            i, " of kernel ", kernel.symbol(), " is ", nameOf(operand.mode()),
            " of ", operand.bytes());
      }
      ZG_RETURN_IF_ERROR(
          steps::needAligned(plan, step, i, elementSize(operand.type())));
    }
    if (!scratch) {
      return absl::OkStatus();
    }
    const plan::Access &last = step.accesses(operands);
    if (last.bytes() != kernel.scratch_bytes()) {
      return steps::invalid("has ", last.bytes(), " bytes of scratch; kernel ",
                            kernel.symbol(), " needs ", kernel.scratch_bytes());
    }
    return steps::needMode(step, operands, {plan::WRITE});
  }
};

} // namespace

ZG_STEP_KIND(Launch, launch)

} // namespace zerograph
