//===- Peers.h - the processes of the other ranks -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_PEERS_H
#define ZEROGRAPH_RUNTIME_COMM_PEERS_H

#include "absl/types/span.h"

#include <string>
#include <vector>

namespace zerograph {

/// Returns the same for all processes that share a machine's memory and
/// processors.
std::string machineName();

/// Describes this process as others see it: where it runs, on which processors,
/// its number. Only `Peers` reads the text.
std::string describeThisProcess();

/// Watches the other ranks' processes as far as they run on this host: one that
/// was killed is known at once, long before a deadline.
class Peers {
public:
  Peers() = default;
  ~Peers();
  Peers(const Peers &) = delete;
  Peers &operator=(const Peers &) = delete;

  /// Watches the processes of `texts`, every rank's `describeThisProcess()`.
  /// The processes are there: they have not ended since.
  void watch(unsigned rank, absl::Span<const std::string> texts);

  /// Returns whether the process of `rank` is known to have ended.
  bool hasEnded(unsigned rank) const;
  /// Returns "process 1234 on host", or nothing.
  std::string name(unsigned rank) const;
  /// Returns the ranks that share this one's processors, itself included.
  unsigned sharing() const { return same_processors; }

private:
  std::vector<int> descriptors; // -1: not watched
  std::vector<std::string> names;
  unsigned same_processors = 1;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_PEERS_H
