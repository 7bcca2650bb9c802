//===- Timelines.h - how far the streams of one rank are ------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_TIMELINES_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_TIMELINES_H

#include "runtime/device/Device.h"

#include <atomic>
#include <deque>
#include <functional>

namespace zerograph {

/// `position` entries of `stream` are done.
struct StreamPosition {
  unsigned stream = 0;
  uint32_t position = 0;
};

/// A counter for each stream: how many entries of the running program it has
/// finished. A failure moves every counter to the end, which wakes all.
class Timelines {
public:
  /// There are at least `count` streams. Nothing runs.
  void addStreams(unsigned count) {
    while (counters.size() < count) {
      counters.emplace_back();
    }
  }

  /// All streams are idle.
  void reset() {
    failed.store(false, std::memory_order_relaxed);
    for (Counter &counter : counters) {
      counter.value.store(0, std::memory_order_release);
    }
  }

  /// Entry `position - 1` of `stream` is done.
  void advance(unsigned stream, uint32_t position) {
    std::atomic<uint32_t> &value = counters[stream].value;
    // A failure has set the highest value: never go back from it.
    uint32_t before = position - 1;
    if (value.compare_exchange_strong(before, position,
                                      std::memory_order_acq_rel)) {
      value.notify_all();
    }
  }

  /// False where a stream failed.
  bool await(StreamPosition point) {
    std::atomic<uint32_t> &value = counters[point.stream].value;
    uint32_t now = value.load(std::memory_order_acquire);
    while (now < point.position) {
      value.wait(now, std::memory_order_acquire);
      now = value.load(std::memory_order_acquire);
    }
    return !failed.load(std::memory_order_acquire);
  }

  bool hasFailed() const { return failed.load(std::memory_order_acquire); }

  /// True for the first failure of a program; wakes every stream.
  bool fail(const absl::Status &status, uint32_t step) {
    if (!cancel()) {
      return false;
    }
    if (failure_callback) {
      failure_callback(status, step);
    }
    return true;
  }

  /// The same where no stream of this device has failed: nobody is told.
  bool cancel() {
    if (failed.exchange(true, std::memory_order_acq_rel)) {
      return false;
    }
    for (Counter &counter : counters) {
      counter.value.store(UINT32_MAX, std::memory_order_release);
      counter.value.notify_all();
    }
    return true;
  }

  FailureCallback failure_callback;

private:
  struct alignas(64) Counter {
    std::atomic<uint32_t> value{0};
  };
  std::deque<Counter> counters; // they stay where they are
  std::atomic<bool> failed{false};
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_TIMELINES_H
