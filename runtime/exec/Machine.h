//===- Machine.h - what a plan runs on ------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
#define ZEROGRAPH_RUNTIME_EXEC_MACHINE_H

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

  /// Verifies the plan, checks that this machine can run it, and opens it;
  /// `number`: on which, of several accelerators.
  static absl::StatusOr<Machine> open(const plan::Plan &plan,
                                      const LoadOptions &options = {},
                                      unsigned number = 0);
  /// The same of a plan that is verified.
  static absl::StatusOr<Machine> openVerified(const plan::Plan &plan,
                                              const LoadOptions &options,
                                              unsigned number);

  /// Refuses arenas of `ranks` ranks that there is no memory for.
  absl::Status checkArenas(const plan::Plan &plan, unsigned ranks) const;
};

/// Threads of a rank: as asked for, or 0, its share of the processors.
unsigned threadsOf(unsigned asked, unsigned ranks);

/// The most that this process had resident.
uint64_t peakResidentBytes();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
