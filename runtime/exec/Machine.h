//===- Machine.h - what a plan runs on ------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
#define ZEROGRAPH_RUNTIME_EXEC_MACHINE_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/device/Driver.h"

namespace zerograph {

/// Counts the ranks that this one shares its device with, and its machine,
/// itself included; and the machines that have ranks.
struct LocalTopology {
  unsigned on_device = 1, on_machine = 1, machines = 1;
  /// Tells whether this rank is the first of its process on its device.
  bool first_here = true;
};

/// A device of a rank, with what it has opened of the plan, which outlives it.
struct RankDevice {
  std::unique_ptr<Device> device;
  const Module *module = nullptr;
};

/// A rank's devices, by the numbers of the plan's.
using RankDevices = std::vector<RankDevice>;

/// The machine code of a plan, and of the host that helps; null where it has no
/// second device.
struct OpenedCode {
  std::unique_ptr<Module> module, helper;

  /// Returns the code by the numbers of the plan's devices.
  std::vector<const Module *> byDevice() const;
};

/// The driver that a plan asks for and its machine code, opened once for all
/// ranks of this process.
struct Machine {
  std::unique_ptr<Driver> driver;
  std::unique_ptr<Module> module;
  /// The driver and code of the host that helps the device; null where the plan
  /// has no second one.
  std::unique_ptr<Driver> helper;
  std::unique_ptr<Module> helper_module;
  /// The code of other plans for the same devices, as they were added.
  std::vector<OpenedCode> added;
  /// The bytes of the accelerator that were in use when it was opened, and when
  /// the plan's kernels and libraries were; nothing for the processor.
  std::optional<uint64_t> in_use_before, in_use_loaded;

  /// Verifies the plan, checks that this machine can run it, and opens it.
  /// `number` says on which of several accelerators.
  static absl::StatusOr<Machine> open(const plan::Plan &plan,
                                      const LoadOptions &options = {},
                                      unsigned number = 0);
  /// Does the same with a plan that is verified.
  static absl::StatusOr<Machine> openVerified(const plan::Plan &plan,
                                              const LoadOptions &options,
                                              unsigned number);

  /// Opens one more plan, once it is known to have the states of `first`
  /// (SameStates.h), the plan that the machine was opened for. Verifies it.
  absl::Status add(const plan::Plan &first, const plan::Plan &plan);

  /// Creates a rank's own devices.
  absl::StatusOr<RankDevices> createDevices(const DeviceOptions &options) const;

  /// Returns the neighbours of a rank. All ranks call it.
  absl::StatusOr<LocalTopology> neighbours(ControlPlane &control) const;
  /// Refuses arenas that there is no memory for, and streams that the device
  /// has no queues for, those of neighbours too. `besides` is what each rank
  /// has of the machine's memory besides, in bytes.
  absl::Status checkRoom(const plan::Plan &plan,
                         const LocalTopology &neighbours = {},
                         uint64_t besides = 0) const;
};

/// Returns the threads of a rank: as asked for, or for 0, its share of the
/// processors.
unsigned threadsOf(unsigned asked, unsigned ranks);

/// Returns the most memory that this process had resident.
uint64_t peakResidentBytes();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
