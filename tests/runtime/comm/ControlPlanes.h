//===- ControlPlanes.h - control planes of ranks that are threads ---------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_COMM_CONTROLPLANES_H
#define ZEROGRAPH_TESTS_RUNTIME_COMM_CONTROLPLANES_H

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/comm/tcp/TcpControlPlane.h"
#include "tests/support/Threads.h"

#include "gtest/gtest.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace zerograph::testing {

using Deadline = std::chrono::duration<double>;

/// One on which nothing listens now.
inline uint16_t freePort() {
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  EXPECT_EQ(bind(descriptor, any, size), 0);
  EXPECT_EQ(getsockname(descriptor, any, &size), 0);
  close(descriptor);
  return ntohs(address.sin_port);
}

inline Launch launchOf(unsigned rank, unsigned world, uint16_t port,
                       const std::string &run = "a test") {
  Launch launch;
  launch.launcher = "the test";
  launch.rank = rank;
  launch.world = world;
  launch.place = MeetingPlace{"127.0.0.1", {port}, "a free port", run};
  return launch;
}

/// The kinds that ranks as threads can have. Those of TCP are what processes
/// have, which may as well be threads.
enum class Transport { kLocal, kTcp };

inline std::string nameOf(Transport transport) {
  return transport == Transport::kTcp ? "Tcp" : "Local";
}

/// In rank order, once all have met.
inline std::vector<std::unique_ptr<ControlPlane>>
makePlanes(Transport transport, unsigned world, Deadline deadline) {
  std::vector<std::unique_ptr<ControlPlane>> planes(world);
  if (transport == Transport::kLocal) {
    LocalGroupOptions options;
    options.world = world;
    options.deadline = deadline;
    auto group = makeLocalGroup(options);
    std::move(group.begin(), group.end(), planes.begin());
    return planes;
  }
  uint16_t port = freePort();
  onThreads(world, [&](unsigned rank) {
    TcpOptions options;
    options.deadline = deadline;
    auto joined = TcpControlPlane::join(launchOf(rank, world, port), options);
    EXPECT_TRUE(joined.ok()) << joined.status();
    planes[rank] = joined.ok() ? *std::move(joined) : nullptr;
  });
  return planes;
}

/// Runs `body(control plane)` on a thread a rank, and ends all ranks where one
/// returns an error; gives each one's status. No rank ends before all return.
template <typename Body>
std::vector<absl::Status> onPlanes(Transport transport, unsigned world,
                                   Deadline deadline, const Body &body) {
  auto planes = makePlanes(transport, world, deadline);
  std::vector<absl::Status> statuses(world, absl::UnknownError("not run"));
  if (std::count(planes.begin(), planes.end(), nullptr) > 0) {
    return statuses;
  }
  onThreads(world, [&](unsigned rank) {
    statuses[rank] = body(*planes[rank]);
    if (!statuses[rank].ok()) {
      planes[rank]->abort(statuses[rank]);
    }
  });
  // At once, as they would if they were processes.
  std::vector<std::thread> ends;
  for (auto &plane : planes) {
    ends.emplace_back([&plane] { plane.reset(); });
  }
  for (std::thread &thread : ends) {
    thread.join();
  }
  return statuses;
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_COMM_CONTROLPLANES_H
