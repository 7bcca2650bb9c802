//===- Driver.h - what this machine has of a kind of device ---------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H
#define ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H

#include "runtime/device/Device.h"

namespace zerograph {

struct DeviceOptions {
  /// Names threads; chooses among several accelerators.
  unsigned rank = 0;
  /// Threads that share a step of a stream that computes.
  unsigned threads = 1;
};

/// Opened once a process, shared by its ranks; thread-safe.
class Driver {
public:
  virtual ~Driver() = default;

  /// Opens the plan's machine code, which is run: open only plans that are
  /// trusted. An error names what is missing in it.
  virtual absl::StatusOr<std::unique_ptr<Module>>
  load(const plan::Plan &plan) = 0;

  /// The device of one rank. The driver outlives it.
  virtual absl::StatusOr<std::unique_ptr<Device>>
  createDevice(const DeviceOptions &options) = 0;

  /// Refuses `bytes` of memory that this machine has not.
  virtual absl::Status checkMemory(uint64_t bytes) const = 0;
};

/// The driver of the device that a plan was made for; an error that lists all
/// that this machine lacks.
absl::StatusOr<std::unique_ptr<Driver>> openDriver(const plan::Target &target);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H
