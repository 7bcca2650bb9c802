//===- RankThreads.h - a thread for each rank of this process -------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKTHREADS_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKTHREADS_H

#include "runtime/base/Status.h"

#include "absl/functional/function_ref.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace zerograph {

/// Threads that wait for work, which all of them do together with the one that
/// gives it, which is rank 0's: no thread is woken for one rank. One thread
/// uses the object at a time.
class RankThreads {
public:
  /// Starts the threads of so many ranks, but the first; an error where the
  /// system gives none.
  static absl::StatusOr<std::unique_ptr<RankThreads>> start(size_t ranks);
  /// Ends them.
  ~RankThreads();
  RankThreads(const RankThreads &) = delete;
  RankThreads &operator=(const RankThreads &) = delete;

  /// Calls `work(rank)` for each rank, and returns when all have returned.
  void run(absl::FunctionRef<void(size_t rank)> work);

private:
  RankThreads() = default;
  void wait(size_t rank);

  std::mutex mutex;
  std::condition_variable changed;
  /// The work at hand; null: the threads are to end.
  const absl::FunctionRef<void(size_t)> *work = nullptr;
  uint64_t round = 0; ///< of work
  size_t running = 0;
  std::vector<std::thread> threads;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKTHREADS_H
