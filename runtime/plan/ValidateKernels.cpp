//===- ValidateKernels.cpp - modules, and the kernels in them -------------===//

#include "runtime/plan/Validate.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/steps/Checks.h"

#include <algorithm>
#include <set>

namespace zerograph {
namespace detail {
namespace {

using steps::invalid;

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
    for (uint32_t other : operand.linear_in()) {
      if (operand.mode() == plan::READ || other > uint32_t(i) ||
          kernel.operands(other).mode() == plan::WRITE) {
        return invalid("operand ", i, " is linear in operand ", other,
                       "; only what is written may be, in what is read, itself "
                       "or an earlier one");
      }
    }
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
  if (kernel.has_host() && kernel.host().extent() > most) {
    return invalid("it has ", kernel.host().extent(),
                   " work items and its largest operand ", most, " elements");
  }
  return absl::OkStatus();
}

/// The limits that every GPU has: threads of a block, and bytes that they share
/// without being asked.
constexpr uint32_t kMostThreads = 1024, kMostShared = 48 << 10;

absl::Status validateLaunch(const plan::CudaLaunch &launch) {
  bool fits = launch.grid() > 0 && launch.grid() < (uint32_t(1) << 31) &&
              launch.block() > 0 && launch.block() <= kMostThreads &&
              launch.shared_bytes() <= kMostShared;
  if (launch.symbol().empty() || !fits) {
    return invalid("it has a launch \"", launch.symbol(), "\" of ",
                   launch.grid(), " blocks of ", launch.block(),
                   " threads that share ", launch.shared_bytes(),
                   " bytes; blocks have 1 to 1024 threads, which share at most "
                   "49152 bytes");
  }
  return absl::OkStatus();
}

absl::Status validateKernel(const plan::Plan &plan,
                            const plan::Kernel &kernel) {
  if (kernel.module() >= uint32_t(plan.modules_size())) {
    return invalid("it is in module ", kernel.module(), " of ",
                   plan.modules_size());
  }
  const plan::Module &module = plan.modules(int(kernel.module()));
  if (kernel.has_host() != module.has_elf() ||
      kernel.has_cuda() != module.has_ptx()) {
    return invalid("it is not launched as its module's kernels are");
  }
  if (kernel.has_host() &&
      (kernel.host().grain() == 0 || kernel.host().extent() > kMaxArenaBytes ||
       kernel.host().grain() > kMaxArenaBytes)) {
    return invalid("it has extent ", kernel.host().extent(), " and grain ",
                   kernel.host().grain(), "; the grain must be at least 1");
  }
  for (const plan::CudaLaunch &launch : kernel.cuda().launches()) {
    ZG_RETURN_IF_ERROR(validateLaunch(launch));
  }
  if (kernel.has_cuda() && kernel.cuda().launches().empty()) {
    return invalid("it has no launch");
  }
  return validateOperands(kernel);
}

/// Returns whether a module holds code that its device can load.
bool fitsItsDevice(const plan::Plan &plan, const plan::Module &module) {
  const plan::Target &device = plan.devices(int(module.device()));
  if (isGpu(device)) {
    return !module.ptx().text().empty() && device.features_size() == 1 &&
           device.features(0) == module.ptx().architecture();
  }
  return !module.elf().empty();
}

} // namespace

absl::Status validateKernels(const plan::Plan &plan) {
  for (int i = 0; i < plan.modules_size(); ++i) {
    const plan::Module &module = plan.modules(i);
    if (module.device() >= uint32_t(plan.devices_size()) ||
        !fitsItsDevice(plan, module)) {
      return invalid("module ", i, " is for device ", module.device(), " of ",
                     plan.devices_size(), ", or has no code that it can load");
    }
  }
  std::set<std::pair<uint32_t, std::string>> symbols;
  for (int i = 0; i < plan.kernels_size(); ++i) {
    const plan::Kernel &kernel = plan.kernels(i);
    if (kernel.symbol().empty() ||
        !symbols.emplace(kernel.module(), kernel.symbol()).second) {
      return invalid("kernel ", i, " has the symbol \"", kernel.symbol(),
                     "\", which is empty or taken");
    }
    absl::Status status = validateKernel(plan, kernel);
    if (!status.ok()) {
      return annotate(status, absl::StrCat("kernel ", kernel.symbol()));
    }
  }
  return absl::OkStatus();
}

} // namespace detail
} // namespace zerograph
