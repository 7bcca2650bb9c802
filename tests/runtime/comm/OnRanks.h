//===- OnRanks.h - ranks that are threads of a test -----------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_COMM_ONRANKS_H
#define ZEROGRAPH_TESTS_RUNTIME_COMM_ONRANKS_H

#include "runtime/comm/local/LocalGroup.h"

#include <string>
#include <thread>
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
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < options.world; ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] = body(*group[rank]);
      if (!statuses[rank].ok()) {
        group[rank]->abort(statuses[rank]);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return statuses;
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_COMM_ONRANKS_H
