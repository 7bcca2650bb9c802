//===- CollectiveOrder.h - collectives of a rank, one after the other -----===//

#ifndef ZEROGRAPH_RUNTIME_COMM_COLLECTIVEORDER_H
#define ZEROGRAPH_RUNTIME_COMM_COLLECTIVEORDER_H

#include "runtime/base/Status.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace zerograph {

/// Streams of one rank call collectives as they come to them; each waits here
/// until the one before it in the plan's order is done, however long this rank
/// computes until then; a failure of the rank ends the wait.
class CollectiveOrder {
public:
  void restart() {
    std::lock_guard<std::mutex> lock(mutex);
    next = 0;
  }

  absl::Status await(uint32_t sequence) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return failed || next >= sequence; });
    if (failed) {
      return absl::CancelledError("this rank has failed");
    }
    if (next > sequence) {
      return absl::InternalError(absl::StrCat(
          "its turn is over: the next collective has sequence ", next));
    }
    return absl::OkStatus();
  }

  /// Passes the turn on: the collective whose turn it was is done.
  void done() {
    std::lock_guard<std::mutex> lock(mutex);
    ++next;
    changed.notify_all();
  }

  void fail() {
    std::lock_guard<std::mutex> lock(mutex);
    failed = true;
    changed.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t next = 0;
  bool failed = false;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_COLLECTIVEORDER_H
