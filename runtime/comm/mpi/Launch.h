//===- Launch.h - who started this process --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_MPI_LAUNCH_H
#define ZEROGRAPH_RUNTIME_COMM_MPI_LAUNCH_H

#include "runtime/base/Status.h"

#include <optional>
#include <string>

namespace zerograph {

/// What a launcher says of the processes that it started. MPI has the last
/// word; until it is initialized this is all there is.
struct Launch {
  std::string launcher; // "mpirun", "srun", ...
  unsigned rank = 0;
  /// 0 where the launcher does not say.
  unsigned world = 0;
  /// What may keep MPI from starting, and what to do instead; else empty.
  std::string doubt;
};

/// Nothing for a process that no launcher of MPI processes started. An error
/// where one did whose processes could not meet.
absl::StatusOr<std::optional<Launch>> detectLaunch();

/// Refuses to do once for each of several processes what is done once.
absl::Status needOneProcess();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_MPI_LAUNCH_H
