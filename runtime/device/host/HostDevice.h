//===- HostDevice.h - the CPU as a device ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDEVICE_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDEVICE_H

#include "runtime/device/Driver.h"

namespace zerograph {

/// Called by a stream's thread around each step, after its waits, for tests
/// that watch a run. An error is the step's.
struct StepHooks {
  std::function<absl::Status(const plan::Step &)> before, after;
};

/// A device whose streams are threads of this process. It has the spaces
/// device, pinned and host, all in memory of the process, and nvme, a file.
std::unique_ptr<Device> makeHostDevice(const DeviceOptions &options,
                                       StepHooks hooks = {});

/// Opens the processor; an error lists what it lacks for the target.
absl::StatusOr<std::unique_ptr<Driver>>
openHostDriver(const plan::Target &target);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDEVICE_H
