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
/// Each thread begins with its own share of the parts, the same one in each
/// run, so that it finds in its cache what it wrote; then it takes what others
/// have left. So a thread that the system holds up delays the part it has and
/// no other, and nobody waits for a thread that has none. After a run a thread
/// looks out for the next one for a while before it sleeps, since to wake it
/// takes longer than most operations of a small model.
class WorkerPool {
public:
  /// Throws std::system_error where the system has no more threads.
  explicit WorkerPool(unsigned size);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  unsigned size() const { return unsigned(shares.size()); }
  /// From now on `count` threads take part, of 1 to size(); at first all do.
  /// Not during a run.
  void use(unsigned count);

  /// Calls function(part) for each part of [0, parts), each once, on the
  /// threads that are free, and returns when all are done. It may not throw.
  template <typename Function>
  void run(uint32_t parts, const Function &function) {
    if (taking.load(std::memory_order_relaxed) == 1 || parts <= 1) {
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
  void begin(uint32_t parts) noexcept;
  void takeParts(unsigned thread) noexcept;
  void work(unsigned thread) noexcept;
  void end();

  /// The parts that a thread begins with: their end (upper half) and the next
  /// to take, in one word, so that a thread that wakes late can't take a part
  /// of a run that ended.
  struct alignas(64) Share {
    std::atomic<uint64_t> end_and_next{0};
  };

  // The current run's. Written only while no part can be taken, read only by a
  // thread that has taken one.
  Task task = nullptr;
  const void *context = nullptr;
  std::vector<Share> shares; // per thread, the caller's first
  // The threads that take part; others sleep until it changes.
  std::atomic<unsigned> taking;
  alignas(64) std::atomic<uint32_t> unfinished{0};
  // Threads look at it, and sleep until it changes.
  alignas(64) std::atomic<uint32_t> runs{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_WORKERPOOL_H
