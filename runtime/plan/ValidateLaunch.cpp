//===- ValidateLaunch.cpp - kernels, and launches against them ------------===//
//
// A kernel's machine code trusts its buffers. What it touches is stated with
// it, and every launch must bring just that.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Validate.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/StepChecks.h"

#include <algorithm>
#include <set>

namespace zerograph {
namespace detail {
namespace {

absl::Status validateOperands(const plan::Kernel &kernel) {
  uint64_t most = 0; // elements
  for (int i = 0; i < kernel.operands_size(); ++i) {
    const plan::Operand &operand = kernel.operands(i);
    uint64_t element = elementSize(operand.type());
    if (element == 0 || operand.bytes() == 0 ||
        operand.bytes() % element != 0 || operand.mode() < plan::READ ||
        operand.mode() > plan::READ_WRITE) {
      return invalid("operand ", i, " has ", operand.bytes(),
                     " bytes of elements of type ", nameOf(operand.type()),
                     " in mode ", nameOf(operand.mode()),
                     "; it must be some whole elements, read or written");
    }
    most = std::max(most, operand.bytes() / element);
    for (uint32_t other : operand.in_place()) {
      if (operand.mode() != plan::WRITE || other >= uint32_t(i) ||
          kernel.operands(other).mode() != plan::READ ||
          kernel.operands(other).bytes() != operand.bytes() ||
          kernel.operands(other).type() != operand.type()) {
        return invalid("operand ", i, " may lie on operand ", other,
                       "; only what is written may, on an earlier one of its "
                       "size and type that is read");
      }
    }
  }
  // Work items are rows, columns or elements: never more than elements.
  if (kernel.extent() > most) {
    return invalid("it has ", kernel.extent(),
                   " work items and its largest operand ", most, " elements");
  }
  return absl::OkStatus();
}

/// What a launch writes is apart from the rest, but for in-place results.
absl::Status needApartOrInPlace(const plan::Plan &plan, const plan::Step &step,
                                const plan::Kernel &kernel, int read,
                                int written) {
  Range a = arenaRange(plan, step.accesses(read));
  Range b = arenaRange(plan, step.accesses(written));
  if (!overlap(a, b, plan.world())) {
    return absl::OkStatus();
  }
  const auto &places = kernel.operands(written).in_place();
  bool exactly = a.begin == b.begin && a.bytes == b.bytes &&
                 (plan.world() == 1 || a.stride == b.stride);
  if (exactly &&
      std::find(places.begin(), places.end(), uint32_t(read)) != places.end()) {
    return absl::OkStatus();
  }
  return invalid("access ", written, ", written to ",
                 describeSlice(plan, step.accesses(written).slice()),
                 ", shares bytes with access ", read, " to ",
                 describeSlice(plan, step.accesses(read).slice()), "; kernel ",
                 kernel.symbol(), " wants them ",
                 exactly ? "apart" : "apart or the very same");
}

} // namespace

absl::Status validateKernels(const plan::Plan &plan) {
  std::set<std::string> symbols;
  for (int i = 0; i < plan.kernels_size(); ++i) {
    const plan::Kernel &kernel = plan.kernels(i);
    if (kernel.symbol().empty() || !symbols.insert(kernel.symbol()).second) {
      return invalid("kernel ", i, " has the symbol \"", kernel.symbol(),
                     "\", which is empty or taken");
    }
    if (kernel.grain() == 0 || kernel.extent() > kMaxArenaBytes ||
        kernel.grain() > kMaxArenaBytes) {
      return invalid("kernel ", kernel.symbol(), " has extent ",
                     kernel.extent(), " and grain ", kernel.grain(),
                     "; the grain must be at least 1");
    }
    absl::Status operands = validateOperands(kernel);
    if (!operands.ok()) {
      return annotate(operands, absl::StrCat("kernel ", kernel.symbol()));
    }
  }
  if (plan.kernels_size() > 0 && plan.kernel_module().empty()) {
    return invalid("the plan has ", plan.kernels_size(),
                   " kernels and no module that holds them");
  }
  return absl::OkStatus();
}

absl::Status validateLaunch(const plan::Plan &plan, const plan::Step &step) {
  if (step.launch().kernel() >= uint32_t(plan.kernels_size())) {
    return invalid("launches kernel ", step.launch().kernel(), " of ",
                   plan.kernels_size());
  }
  const plan::Kernel &kernel = plan.kernels(int(step.launch().kernel()));
  if (step.accesses_size() != kernel.operands_size()) {
    return invalid("has ", step.accesses_size(), " accesses; kernel ",
                   kernel.symbol(), " has ", kernel.operands_size(),
                   " operands");
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    const plan::Operand &operand = kernel.operands(i);
    if (access.bytes() != operand.bytes() || access.mode() != operand.mode()) {
      return invalid("access ", i, " to ", describeSlice(plan, access.slice()),
                     " is ", nameOf(access.mode()), " of ", access.bytes(),
                     " bytes; operand ", i, " of kernel ", kernel.symbol(),
                     " is ", nameOf(operand.mode()), " of ", operand.bytes());
    }
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i, elementSize(operand.type())));
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    for (int j = 0;
         step.accesses(i).mode() != plan::READ && j < step.accesses_size();
         ++j) {
      // Of two that are written, once.
      if (i != j && (j < i || step.accesses(j).mode() == plan::READ)) {
        ZG_RETURN_IF_ERROR(needApartOrInPlace(plan, step, kernel, j, i));
      }
    }
  }
  return absl::OkStatus();
}

} // namespace detail
} // namespace zerograph
