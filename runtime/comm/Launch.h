//===- Launch.h - who started this process --------------------------------===//
//
// The one place that reads what launchers say in the environment. Before MPI
// is initialized, and where there is none, this is all that a process knows of
// the others.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_LAUNCH_H
#define ZEROGRAPH_RUNTIME_COMM_LAUNCH_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// The place to meet for processes that MPI does not bring together.
struct MeetingPlace {
  std::string host; // of rank 0
  /// Rank 0 listens on the first of them that nobody else has, and the others
  /// try all; the same on every rank.
  std::vector<uint16_t> ports;
  /// Names what the place was taken from, for messages: "MASTER_ADDR and
  /// MASTER_PORT".
  std::string source;
  /// Names the run, since two may come to one port; the same on every rank,
  /// and empty where the launcher has no name for it.
  std::string run;
};

/// The processes that a launcher started, by its own words.
struct Launch {
  std::string launcher; // "mpirun", "srun", "torchrun", ...
  unsigned rank = 0;
  /// The number of ranks; 0 where the launcher does not say, and MPI will.
  unsigned world = 0;
  /// Says what may keep MPI from starting, and what to do instead; else empty.
  std::string doubt;
  /// Given where the processes have no MPI, but one another's rank and a place
  /// to meet at: enough for a control plane (`tcp/`), not for data that lies in
  /// the host's memory.
  std::optional<MeetingPlace> place;
};

/// Returns the value of an environment variable, or null.
using Variables = std::function<const char *(const char *name)>;

/// Returns the launch; nothing for a process that is alone. It looks, in this
/// order, for torchrun's own processes, wherever torchrun runs; processes of
/// MPI (mpirun, srun with PMIx); those with torchrun's variables; those of an
/// srun without MPI. An error names the variable that is missing, malformed, or
/// contradicts another.
absl::StatusOr<std::optional<Launch>>
detectLaunch(const Variables &get = std::getenv);

/// Refuses a plan whose ranks exchange through the host's memory where the
/// processes of `launch` have no MPI for it.
absl::Status needMpi(const Launch &launch);

/// Refuses to do once for each of several processes what is done once.
absl::Status needOneProcess();

/// Returns the first host of a list as Slurm writes it: "node07" for
/// "node[07-09,12],login1". Empty for a text that is no list.
std::string firstHost(const std::string &hosts);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_LAUNCH_H
