//===- LocalGroup.h - ranks that are threads of one process ---------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_LOCAL_LOCALGROUP_H
#define ZEROGRAPH_RUNTIME_COMM_LOCAL_LOCALGROUP_H

#include "runtime/comm/HostCommunicator.h"

#include <chrono>
#include <functional>
#include <memory>

namespace zerograph {

struct LocalGroupOptions {
  unsigned world = 1;
  /// The longest that a rank waits for others in one call; what it computes
  /// before is not counted.
  std::chrono::duration<double> deadline = std::chrono::seconds(300);
  /// Called by each rank as it enters a collective, for tests that delay some.
  std::function<void(unsigned rank, const CollectiveSite &site)> on_enter;
  /// Called by each rank when all have come, before it reads the others'
  /// memory; for tests too.
  std::function<void(unsigned rank)> on_met;
};

/// Makes one communicator a rank. Each is used by its rank's threads; a
/// destroyed one counts as a rank that has ended, and waiting for it is an
/// error.
std::vector<std::unique_ptr<HostCommunicator>>
makeLocalGroup(const LocalGroupOptions &options);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_LOCAL_LOCALGROUP_H
