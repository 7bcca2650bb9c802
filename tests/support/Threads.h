//===- Threads.h - ranks as threads ---------------------------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_THREADS_H
#define ZEROGRAPH_TESTS_SUPPORT_THREADS_H

#include <thread>
#include <vector>

namespace zerograph::testing {

/// Calls run(i) for each i below `count`, on a thread each, and waits for all.
template <typename Run>
void onThreads(size_t count, const Run &run) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&run, i] { run(i); });
  }
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_THREADS_H
