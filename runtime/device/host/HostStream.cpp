//===- HostStream.cpp - a stream that is a thread -------------------------===//

#include "runtime/device/host/HostStream.h"

#include "runtime/device/host/HostOperations.h"

#include <chrono>
#include <pthread.h>
#include <thread>

using namespace zerograph;

namespace {

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

class HostStream final : public Stream {
public:
  HostStream(Timelines &timelines, unsigned index, const std::string &name,
             unsigned workers)
      : timelines(timelines), index(index), pool(workers) {
    thread = std::thread([this] { serve(); });
    // For debuggers; the system keeps 15 letters.
    pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  }

  ~HostStream() override {
    program = nullptr;
    begun.fetch_add(1, std::memory_order_release);
    begun.notify_one();
    thread.join();
  }

  absl::StatusOr<std::unique_ptr<Operation>>
  launch(const KernelModule &module, const plan::Kernel &kernel, unsigned index,
         absl::Span<void *const> buffers) override {
    return makeLaunch(pool, module, kernel, index, buffers);
  }
  absl::StatusOr<std::unique_ptr<Operation>>
  matmul(const plan::Matmul &matmul, absl::Span<void *const> buffers,
         uint64_t scratch_bytes) override {
    return makeMatmul(pool, matmul, buffers, scratch_bytes);
  }
  absl::StatusOr<std::unique_ptr<Operation>>
  convolution(const plan::Convolution &convolution,
              absl::Span<void *const> buffers,
              uint64_t scratch_bytes) override {
    return makeConvolution(pool, convolution, buffers, scratch_bytes);
  }
  absl::StatusOr<std::unique_ptr<Operation>>
  copy(const void *source, void *destination, uint64_t bytes) override {
    return makeCopy(pool, source, destination, bytes);
  }
  absl::StatusOr<std::unique_ptr<Operation>> fill(void *destination,
                                                  uint64_t bytes) override {
    return makeFill(pool, destination, bytes);
  }
  std::unique_ptr<Operation>
  call(std::function<absl::Status()> function) override {
    return makeCall(std::move(function));
  }

  void start(const StreamProgram &newProgram, EntryTime *newTimes) override {
    program = &newProgram;
    times = newTimes;
    status = absl::OkStatus();
    begun.fetch_add(1, std::memory_order_release);
    begun.notify_one();
  }

  absl::Status finish(uint32_t &step) override {
    uint32_t target = begun.load(std::memory_order_relaxed);
    for (uint32_t now = ended.load(std::memory_order_acquire); now != target;
         now = ended.load(std::memory_order_acquire)) {
      ended.wait(now, std::memory_order_acquire);
    }
    step = failed_step;
    return status;
  }

private:
  void serve() {
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

  absl::Status runProgram() {
    uint32_t position = 0;
    for (const StreamEntry &entry : *program) {
      failed_step = entry.step;
      for (Timepoint wait : entry.waits) {
        if (!timelines.await(wait)) {
          return absl::CancelledError("another stream failed");
        }
      }
      if (timelines.hasFailed()) {
        return absl::CancelledError("another stream failed");
      }
      int64_t begin = times ? now() : 0;
      absl::Status result = entry.operation->issue();
      if (times) {
        times[position] = {begin, now()};
      }
      if (!result.ok()) {
        return timelines.fail(result)
                   ? result
                   : absl::CancelledError("another stream failed");
      }
      timelines.advance(index, ++position);
    }
    return absl::OkStatus();
  }

  Timelines &timelines;
  unsigned index;
  WorkerPool pool;
  // Written by the caller before `begun`, read by the thread after it.
  const StreamProgram *program = nullptr;
  EntryTime *times = nullptr;
  // Written by the thread before `ended`.
  absl::Status status;
  uint32_t failed_step = 0;
  std::atomic<uint32_t> begun{0};
  std::atomic<uint32_t> ended{0};
  std::thread thread;
};

} // namespace

std::unique_ptr<Stream> zerograph::makeHostStream(Timelines &timelines,
                                                  unsigned index,
                                                  const std::string &name,
                                                  unsigned workers) {
  return std::make_unique<HostStream>(timelines, index, name, workers);
}
