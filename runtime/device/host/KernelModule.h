//===- KernelModule.h - the plan's shared object, loaded from memory ------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_KERNELMODULE_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_KERNELMODULE_H

#include "runtime/device/Device.h"

namespace zerograph {

/// A generated kernel: work items [begin, end) of its extent.
using KernelFunction = void (*)(void *const *buffers, int64_t begin,
                                int64_t end);

/// A plan's kernels on the host.
class HostKernelModule : public Module {
public:
  struct Kernel {
    KernelFunction function = nullptr;
    uint64_t extent = 0;
    uint64_t grain = 1; // threads split the extent at multiples of this
  };

  /// Kernel `index` of the plan.
  virtual const Kernel &kernel(unsigned index) const = 0;
};

/// Loads the modules of a valid plan and looks up every kernel. It runs code
/// from the plan: check the target first. An error names the symbol that is
/// missing.
absl::StatusOr<std::unique_ptr<HostKernelModule>>
loadKernelModule(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_KERNELMODULE_H
