//===- HostStream.cpp - a stream that is a thread -------------------------===//

#include "runtime/device/host/HostStream.h"

#include <algorithm>
#include <chrono>
#include <pthread.h>

using namespace zerograph;

namespace {

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

absl::Status collateral() {
  return absl::CancelledError("another stream failed");
}

/// A queue that counts cannot wake a thread: the count is looked at, often at
/// first. False where a stream of this device failed.
bool awaitCount(const StreamEntry::Count &count, const Timelines &timelines) {
  constexpr int kYields = 200;
  std::atomic_ref<uint32_t> value(*count.counter);
  for (int tries = 0; value.load(std::memory_order_acquire) < count.value;
       ++tries) {
    if (timelines.hasFailed()) {
      return false;
    }
    if (tries < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return true;
}

/// One that a failure has moved to its end stays there.
void publish(const StreamEntry::Count &count) {
  std::atomic_ref<uint32_t> value(*count.counter);
  uint32_t before = count.value - 1;
  while (before < count.value &&
         !value.compare_exchange_weak(before, count.value,
                                      std::memory_order_release)) {
  }
}

} // namespace

HostStream::HostStream(Timelines &timelines, unsigned index,
                       const std::string &name, const RanksHere &here)
    : timelines(timelines), index(index), pool(here.threads), spare(here) {
  thread = std::thread([this] { serve(); });
  // For debuggers; the system keeps 15 letters.
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
}

HostStream::~HostStream() {
  program = nullptr;
  begun.fetch_add(1, std::memory_order_release);
  begun.notify_one();
  thread.join();
}

void HostStream::start(const StreamProgram &newProgram, unsigned newSlot,
                       StepTime *newTimes, const StepCallback *newAfter) {
  program = &newProgram;
  slot = newSlot;
  times = newTimes;
  after = newAfter;
  status = absl::OkStatus();
  begun.fetch_add(1, std::memory_order_release);
  begun.notify_one();
}

absl::Status HostStream::finish(uint32_t &failed) {
  uint32_t target = begun.load(std::memory_order_relaxed);
  for (uint32_t now = ended.load(std::memory_order_acquire); now != target;
       now = ended.load(std::memory_order_acquire)) {
    ended.wait(now, std::memory_order_acquire);
  }
  failed = failed_step;
  return status;
}

void HostStream::serve() {
  for (uint32_t seen = 0;;) {
    begun.wait(seen, std::memory_order_acquire);
    seen = begun.load(std::memory_order_acquire);
    if (!program) {
      return;
    }
    status = runProgram();
    ended.store(seen, std::memory_order_release);
    ended.notify_one();
  }
}

absl::Status HostStream::await(const StreamEntry &entry) {
  for (StreamPosition wait : entry.waits) {
    if (!timelines.await(wait)) {
      return collateral();
    }
  }
  for (const StreamEntry::Count &count : entry.awaits) {
    if (!awaitCount(count, timelines)) {
      return collateral();
    }
  }
  return timelines.hasFailed() ? collateral() : absl::OkStatus();
}

absl::Status HostStream::issueOne(const StreamStep &step) {
  StepTime time;
  time.begin = times ? now() : 0;
  absl::Status result =
      step.operation->issue({nullptr, slot, times ? &time.work : nullptr});
  if (times) {
    time.end = now();
    times[step.place] = time;
  }
  return result;
}

/// Each step's time is from its first part's begin to its last part's end.
absl::Status HostStream::issueSideBySide(const std::vector<StreamStep> &steps) {
  uint32_t parts = 0;
  for (const StreamStep &step : steps) {
    parts += step.shared->parts();
    if (times) {
      times[step.place] = {INT64_MAX, 0};
    }
  }
  pool.run(parts, [&](uint32_t part) {
    const StreamStep *step = steps.data();
    for (; part >= step->shared->parts(); ++step) {
      part -= step->shared->parts();
    }
    int64_t begin = times ? now() : 0;
    step->shared->runPart(part);
    if (times) {
      std::lock_guard<std::mutex> lock(noting);
      StepTime &time = times[step->place];
      time.begin = std::min(time.begin, begin);
      time.end = std::max(time.end, now());
    }
  });
  absl::Status result;
  for (const StreamStep &step : steps) {
    absl::Status status = step.shared->result();
    if (result.ok() && !status.ok()) {
      result = status;
      failed_step = step.number;
    }
  }
  return result;
}

absl::Status HostStream::passOn(const StreamEntry &entry) {
  for (const StreamStep &step : entry.steps) {
    failed_step = step.number;
    ZG_RETURN_IF_ERROR((*after)(step.place));
  }
  return absl::OkStatus();
}

absl::Status HostStream::issue(const StreamEntry &entry) {
  absl::Status result = entry.steps.size() == 1 ? issueOne(entry.steps.front())
                                                : issueSideBySide(entry.steps);
  return result.ok() && after ? passOn(entry) : result;
}

absl::Status HostStream::runProgram() {
  uint32_t position = 0;
  for (const StreamEntry &entry : *program) {
    failed_step = entry.steps.front().number;
    if (pool.size() > 1) {
      pool.use(std::min(pool.size(), spare.threads()));
    }
    ZG_RETURN_IF_ERROR(await(entry));
    absl::Status result = issue(entry);
    if (!result.ok()) {
      return timelines.fail(result, failed_step) ? result : collateral();
    }
    timelines.advance(index, ++position);
    if (entry.publishes) {
      publish(*entry.publishes);
    }
  }
  return absl::OkStatus();
}
