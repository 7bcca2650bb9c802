//===- WorkerPool.h - the threads that share one operation ----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_WORKERPOOL_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_WORKERPOOL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace zerograph {

/// A range of work items.
struct WorkRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool empty() const { return begin >= end; }
};

/// Share `worker` of [0, extent), cut at multiples of `grain`: the shares of
/// all workers cover it once, in order, and differ by at most one grain.
WorkRange shareOf(uint64_t extent, uint64_t grain, unsigned worker,
                  unsigned workers);

/// `workers` threads, the caller being one; with 1 there is no other thread.
/// One thread calls `run` at a time; a run allocates nothing.
class WorkerPool {
public:
  /// Throws std::system_error where the system has no more threads.
  explicit WorkerPool(unsigned workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  unsigned size() const { return unsigned(threads.size()) + 1; }

  /// Calls function(worker) once on each worker, the caller being worker 0,
  /// and returns when all are done.
  template <typename Function>
  void run(const Function &function) {
    if (threads.empty()) {
      function(0u);
      return;
    }
    begin(
        [](const void *context, unsigned worker) {
          (*static_cast<const Function *>(context))(worker);
        },
        &function);
    function(0u);
    finish();
  }

private:
  using Task = void (*)(const void *, unsigned);
  void begin(Task task, const void *context);
  void finish();
  void work(unsigned worker);
  void end();

  Task task = nullptr;
  const void *context = nullptr;
  bool stop = false;
  // Written by the caller to start a round; workers wait for a change.
  std::atomic<uint32_t> round{0};
  std::atomic<uint32_t> busy{0};
  std::vector<std::thread> threads;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_WORKERPOOL_H
