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

  /// Verifies the plan, checks that this machine can run it, and opens it.
  static absl::StatusOr<Machine> open(const plan::Plan &plan);

  /// Refuses arenas of `ranks` ranks that there is no memory for.
  absl::Status checkArenas(const plan::Plan &plan, unsigned ranks) const;
};

/// Threads of a rank: as asked for, or 0, its share of the processors.
unsigned threadsOf(unsigned asked, unsigned ranks);

/// The most that this process had resident.
uint64_t peakResidentBytes();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_MACHINE_H
