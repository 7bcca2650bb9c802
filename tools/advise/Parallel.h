//===- Parallel.h - the same work for several numbers ---------------------===//

#ifndef ZEROGRAPH_TOOLS_ADVISE_PARALLEL_H
#define ZEROGRAPH_TOOLS_ADVISE_PARALLEL_H

#include "absl/functional/function_ref.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace zerograph {

/// Calls `work` with each number below `count`, in their order, on as many
/// threads as that, this one among them. Returns after the last call.
inline void inParallel(unsigned threads, size_t count,
                       absl::FunctionRef<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto all = [&]() {
    for (size_t i = next++; i < count; i = next++) {
      work(i);
    }
  };
  std::vector<std::jthread> others;
  for (size_t k = 1; k < std::min<size_t>(threads, count); ++k) {
    others.emplace_back(all);
  }
  all();
}

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_ADVISE_PARALLEL_H
