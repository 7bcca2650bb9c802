//===- Timing.h - how often ranks say that they live ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_TIMING_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_TIMING_H

#include <algorithm>
#include <chrono>

namespace zerograph::tcp {

using Duration = std::chrono::steady_clock::duration;

/// Returns the time between signs of life.
inline Duration beatInterval(Duration deadline) {
  return std::min<Duration>(std::chrono::seconds(1), deadline / 5);
}

/// Returns the time after which a rank that gives no sign is given up, though
/// nobody may wait for it. A process that lives may be without a processor for
/// a moment.
inline Duration silence(Duration deadline) {
  return std::max<Duration>(std::chrono::seconds(2), deadline);
}

/// Returns how late a look at the clock may be; a process that is later was
/// itself stopped, or starved.
inline Duration lateness(Duration deadline) {
  return std::max<Duration>(std::chrono::seconds(1),
                            2 * beatInterval(deadline));
}

/// Returns how long a rank waits for an answer on one of several ports. A rank
/// 0 that is starved or stopped for longer is taken for a stranger, and a
/// stranger that says nothing keeps a rank from the next port for so long.
inline Duration answer(Duration deadline) {
  return std::max<Duration>(std::chrono::seconds(10), deadline / 10);
}

inline double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_TIMING_H
