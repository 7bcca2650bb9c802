//===- OnRanks.h - ranks that are threads of a test -----------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_COMM_ONRANKS_H
#define ZEROGRAPH_TESTS_RUNTIME_COMM_ONRANKS_H

#include "runtime/comm/local/LocalGroup.h"
#include "tests/support/Threads.h"

#include <string>
#include <vector>

namespace zerograph::testing {

inline CollectiveSite siteOf(uint32_t sequence,
                             const std::string &name = "unit") {
  return {"step", name, name + "/gradients", sequence};
}

/// Runs `body(communicator)` on a thread a rank; gives each one's status.
template <typename Body>
std::vector<absl::Status> onRanks(LocalGroupOptions options, const Body &body) {
  auto group = makeLocalGroup(options);
  std::vector<absl::Status> statuses(options.world);
  onThreads(options.world, [&](unsigned rank) {
    statuses[rank] = body(*group[rank]);
    if (!statuses[rank].ok()) {
      group[rank]->abort(statuses[rank]);
    }
  });
  return statuses;
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_COMM_ONRANKS_H
