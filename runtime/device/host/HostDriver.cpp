//===- HostDriver.cpp - this machine's processor --------------------------===//

#include "runtime/device/host/HostDriver.h"

#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/device/host/KernelModule.h"

using namespace zerograph;

namespace {

class HostDriver final : public Driver {
public:
  absl::StatusOr<std::unique_ptr<Module>>
  load(const plan::Plan &plan, const LoadOptions &options) override {
    if (!options.algorithms.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--algorithms ", options.algorithms,
          ": the plan is for the host, whose library chooses by shape alone; "
          "leave the option out"));
    }
    return loadKernelModule(plan);
  }

  absl::StatusOr<std::unique_ptr<Device>>
  createDevice(const DeviceOptions &options) override {
    return makeHostDevice(options);
  }

  absl::Status checkMemory(const MemoryNeed &need) const override {
    return zerograph::checkMemory(need.device + need.pinned, hostMemory());
  }
};

} // namespace

std::unique_ptr<Driver> zerograph::makeHostDriver() {
  return std::make_unique<HostDriver>();
}
