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

/// Part `part` of [0, extent), cut at multiples of `grain`: the parts cover it
/// once, in order, and differ by at most one grain.
WorkRange partOf(uint64_t extent, uint64_t grain, uint32_t part,
                 uint32_t parts);

/// `size` threads, the caller being one; with 1 there is no other thread.
/// One thread calls `run` at a time; a run allocates nothing.
///
/// A thread takes the next part when it is free, so one that the system holds
/// up delays the part it has and no other; nobody waits for a thread that has
/// none. After a run a thread looks out for the next one for a while before it
/// sleeps, since to wake it takes longer than most operations of a small model.
class WorkerPool {
public:
  /// Throws std::system_error where the system has no more threads.
  explicit WorkerPool(unsigned size);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  unsigned size() const { return unsigned(threads.size()) + 1; }

  /// Calls function(part) for each part of [0, parts), each once, on the
  /// threads that are free, and returns when all are done. It may not throw.
  template <typename Function>
  void run(uint32_t parts, const Function &function) {
    if (threads.empty() || parts <= 1) {
      for (uint32_t part = 0; part < parts; ++part) {
        function(part);
      }
      return;
    }
    share(
        parts,
        [](const void *context, uint32_t part) {
          (*static_cast<const Function *>(context))(part);
        },
        &function);
  }

private:
  using Task = void (*)(const void *, uint32_t);
  void share(uint32_t parts, Task task, const void *context) noexcept;
  void takeParts() noexcept;
  void work() noexcept;
  void end();

  // The current run's. Written only while no part can be taken, read only by a
  // thread that has taken one.
  Task task = nullptr;
  const void *context = nullptr;
  /// How many parts there are (upper half) and the next to take: one word, so
  /// that a thread that wakes late can't take a part of a run that ended.
  alignas(64) std::atomic<uint64_t> parts_and_next{0};
  alignas(64) std::atomic<uint32_t> unfinished{0};
  // Threads look at it, and sleep until it changes.
  alignas(64) std::atomic<uint32_t> runs{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_WORKERPOOL_H
