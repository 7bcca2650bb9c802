//===- RankThreads.cpp - a thread for each rank of this process -----------===//

#include "runtime/exec/RankThreads.h"

#include <system_error>

using namespace zerograph;

absl::StatusOr<std::unique_ptr<RankThreads>> RankThreads::start(size_t ranks) {
  std::unique_ptr<RankThreads> made(new RankThreads);
  for (size_t rank = 1; rank < ranks; ++rank) {
    try {
      made->threads.emplace_back(
          [threads = made.get(), rank] { threads->wait(rank); });
    } catch (const std::system_error &error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the system gives no thread to run on (", error.what(),
                       "): use fewer ranks or --threads"));
    }
  }
  return made;
}

RankThreads::~RankThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    work = nullptr;
    ++round;
  }
  changed.notify_all();
  for (std::thread &thread : threads) {
    thread.join();
  }
}

void RankThreads::run(absl::FunctionRef<void(size_t)> all) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    work = &all;
    running = threads.size();
    ++round;
  }
  changed.notify_all();
  all(0);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return running == 0; });
}

void RankThreads::wait(size_t rank) {
  std::unique_lock<std::mutex> lock(mutex);
  for (uint64_t seen = 0;; seen = round) {
    changed.wait(lock, [&] { return round != seen; });
    if (!work) {
      return;
    }
    lock.unlock();
    (*work)(rank);
    lock.lock();
    if (--running == 0) {
      changed.notify_all();
    }
  }
}
