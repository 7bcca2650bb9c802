//===- Machine.h - what a plan runs on ------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
#define ZEROGRAPH_RUNTIME_EXEC_MACHINE_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/device/Driver.h"

namespace zerograph {

/// The driver that a plan asks for and its machine code, opened once for all
/// ranks of this process.
struct Machine {
  std::unique_ptr<Driver> driver;
  std::unique_ptr<Module> module;
  /// Bytes of the accelerator in use when it was opened, and when the plan's
  /// kernels and libraries were; nothing of the processor.
  std::optional<uint64_t> in_use_before, in_use_loaded;
  /// The same when what ranks exchange by was opened.
  std::optional<uint64_t> in_use_open;

  /// Verifies the plan, checks that this machine can run it, and opens it;
  /// `number`: on which, of several accelerators.
  static absl::StatusOr<Machine> open(const plan::Plan &plan,
                                      const LoadOptions &options = {},
                                      unsigned number = 0);
  /// The same of a plan that is verified.
  static absl::StatusOr<Machine> openVerified(const plan::Plan &plan,
                                              const LoadOptions &options,
                                              unsigned number);

  /// Refuses arenas that there is no memory for: of the ranks that share the
  /// device, and the memory of those that share the machine.
  absl::Status checkArenas(const plan::Plan &plan, unsigned on_device = 1,
                           unsigned on_machine = 1) const;
  /// The same of ranks that are processes: all call it, before one allocates.
  absl::Status checkArenas(const plan::Plan &plan, ControlPlane &control) const;
};

/// Threads of a rank: as asked for, or 0, its share of the processors.
unsigned threadsOf(unsigned asked, unsigned ranks);

/// The most that this process had resident.
uint64_t peakResidentBytes();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
