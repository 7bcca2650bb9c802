//===- Rendezvous.h - where the threads of a local group meet -------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_LOCAL_RENDEZVOUS_H
#define ZEROGRAPH_RUNTIME_COMM_LOCAL_RENDEZVOUS_H

#include "runtime/base/Status.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace zerograph {

/// A barrier of `world` ranks that ends in time: with an error past the
/// deadline, when a rank fails, or when a missing rank has ended.
class Rendezvous {
public:
  using Clock = std::chrono::steady_clock;

  Rendezvous(unsigned world, Clock::duration deadline)
      : world(world), deadline(deadline), arrived(world), ended(world) {}

  /// `describe()` is called for the message of an error only. `item` is what
  /// this rank shows the others: item(r) gives it until r shows another one;
  /// null shows nothing new.
  template <typename Describe>
  absl::Status meet(unsigned rank, const void *item, const Describe &describe) {
    absl::Status status = arrive(rank, item);
    return status.ok() ? status : explain(rank, status, describe());
  }

  const void *item(unsigned rank) const { return items[rank]; }

  /// A rank failed; the first failure is kept and told to all.
  void fail(unsigned rank, const absl::Status &status);
  /// A rank will not come any more.
  void end(unsigned rank);
  /// The failure, or OK.
  absl::Status failure();

private:
  absl::Status arrive(unsigned rank, const void *item);
  absl::Status explain(unsigned rank, const absl::Status &status,
                       const std::string &where);
  absl::Status failureLocked() const;
  std::string missingLocked(const std::vector<bool> &present) const;

  unsigned world;
  Clock::duration deadline;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> arrived; // in this round
  std::vector<bool> ended;
  unsigned count = 0;
  uint64_t round = 0;
  std::vector<const void *> items = std::vector<const void *>(world);
  absl::Status failed;
  unsigned failed_rank = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_LOCAL_RENDEZVOUS_H
