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
/// deadline, when a rank fails, or when a missing rank has ended. After an
/// error of any rank nobody meets any more.
class Rendezvous {
public:
  using Clock = std::chrono::steady_clock;

  Rendezvous(unsigned world, Clock::duration deadline)
      : world(world), deadline(deadline), arrived(world), ended(world) {}

  /// `publish()` is called, under the lock, before any rank goes on, and never
  /// after an error: what it writes may be read by all ranks until this rank
  /// meets them again, whether or not this rank still waits. `describe()` is
  /// called for the message of an error only.
  template <typename Publish, typename Describe>
  absl::Status meet(unsigned rank, const Publish &publish,
                    const Describe &describe) {
    absl::Status status;
    {
      std::unique_lock<std::mutex> lock(mutex);
      status = failureLocked();
      if (status.ok()) {
        publish();
        status = arrive(lock, rank);
      }
    }
    return status.ok() ? status : explain(rank, status, describe());
  }

  /// Fails a rank; the first failure is kept and told to all.
  void fail(unsigned rank, const absl::Status &status);
  /// Ends a rank, which will not come any more.
  void end(unsigned rank);
  /// Returns the failure, or OK.
  absl::Status failure();

private:
  absl::Status arrive(std::unique_lock<std::mutex> &lock, unsigned rank);
  absl::Status explain(unsigned rank, const absl::Status &status,
                       const std::string &where);
  absl::Status failureLocked() const;
  /// Fails a rank. Returns false where another rank has failed before: one
  /// failure is told to all, also where two ranks reach their deadlines at
  /// once.
  bool failLocked(unsigned rank, const absl::Status &status);
  std::string missingLocked(const std::vector<bool> &present) const;

  unsigned world;
  Clock::duration deadline;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> arrived; // in this round
  std::vector<bool> ended;
  unsigned count = 0;
  uint64_t round = 0;
  absl::Status failed;
  unsigned failed_rank = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_LOCAL_RENDEZVOUS_H
