//===- WorkerPool.cpp - the threads that share one operation --------------===//

#include "runtime/device/host/WorkerPool.h"

#include <algorithm>
#include <chrono>

using namespace zerograph;

WorkRange zerograph::partOf(uint64_t extent, uint64_t grain, uint32_t part,
                            uint32_t parts) {
  if (grain == 0) {
    grain = 1;
  }
  uint64_t grains = extent / grain + (extent % grain != 0);
  uint64_t each = grains / parts;
  uint64_t more = grains % parts; // the first `more` parts have one more
  uint64_t first = each * part + std::min<uint64_t>(part, more);
  uint64_t last = first + each + (part < more ? 1 : 0);
  auto at = [&](uint64_t position) {
    return position >= grains ? extent : position * grain;
  };
  return {at(first), at(last)};
}

namespace {

/// Longer than an operation that is too small to share, a product of 16 MFLOP:
/// between two that are shared, threads stay awake. Longer yet gains nothing.
constexpr std::chrono::microseconds kLookOut(200);

/// Waits until `value` is no longer `old`: first looks, then sleeps.
void awaitChange(const std::atomic<uint32_t> &value, uint32_t old) {
  constexpr int kLooks = 64; // between two looks at the clock
  auto end = std::chrono::steady_clock::now() + kLookOut;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (value.load(std::memory_order_acquire) != old) {
        return;
      }
      __builtin_ia32_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
}

} // namespace

WorkerPool::WorkerPool(unsigned size)
    : shares(std::max(size, 1u)), taking(std::max(size, 1u)) {
  try {
    for (unsigned i = 1; i < size; ++i) {
      threads.emplace_back([this, i] { work(i); });
    }
  } catch (...) {
    end(); // those that began, before their vector goes
    throw;
  }
}

WorkerPool::~WorkerPool() { end(); }

void WorkerPool::use(unsigned count) {
  if (taking.load(std::memory_order_relaxed) != count) {
    taking = count;
    taking.notify_all();
  }
}

void WorkerPool::end() {
  stop = true;
  use(size());
  runs.fetch_add(1);
  runs.notify_all();
  for (std::thread &thread : threads) {
    thread.join();
  }
}

void WorkerPool::share(uint32_t parts, Task newTask,
                       const void *newContext) noexcept {
  task = newTask;
  context = newContext;
  begin(parts);
  takeParts(0);
  while (uint32_t left = unfinished.load(std::memory_order_acquire)) {
    awaitChange(unfinished, left);
  }
}

void WorkerPool::begin(uint32_t parts) noexcept {
  unsigned count = taking.load(std::memory_order_relaxed);
  unfinished.store(parts, std::memory_order_relaxed);
  for (uint32_t thread = 0; thread < size(); ++thread) {
    WorkRange own =
        thread < count ? partOf(parts, 1, thread, count) : WorkRange();
    shares[thread].end_and_next.store(own.end << 32 | own.begin,
                                      std::memory_order_release);
  }
  runs.fetch_add(1);
  if (parts > threads.size()) {
    runs.notify_all();
  } else {
    for (uint32_t part = 1; part < parts; ++part) { // the caller takes one
      runs.notify_one();
    }
  }
}

void WorkerPool::takeParts(unsigned thread) noexcept {
  for (unsigned i = 0; i < size(); ++i) {
    auto &end_and_next = shares[(thread + i) % size()].end_and_next;
    uint64_t seen = end_and_next.load(std::memory_order_acquire);
    while (uint32_t(seen) < seen >> 32) {
      if (!end_and_next.compare_exchange_weak(seen, seen + 1,
                                              std::memory_order_acquire)) {
        continue;
      }
      task(context, uint32_t(seen));
      if (unfinished.fetch_sub(1) == 1) {
        unfinished.notify_one();
      }
      seen = end_and_next.load(std::memory_order_acquire);
    }
  }
}

void WorkerPool::work(unsigned thread) noexcept {
  for (uint32_t seen = 0;;) {
    for (unsigned now = taking; now <= thread; now = taking) {
      taking.wait(now);
    }
    awaitChange(runs, seen);
    seen = runs.load(std::memory_order_acquire);
    if (stop.load(std::memory_order_acquire)) {
      return;
    }
    takeParts(thread);
  }
}
