//===- SpareProcessors.h - processors that other programs leave us --------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H

#include <cstdint>
#include <sched.h>
#include <string>

namespace zerograph {

/// Clock ticks in which the processors of `set` were busy, from the text of
/// /proc/stat (proc(5)).
uint64_t busyTicks(const std::string &stat, const cpu_set_t &set);

/// Of `processors`, those that are left where others use as much time as
/// `others` processors have: at least 1. What uses a quarter of one is not
/// counted: it can't hold a thread up for long.
unsigned spareProcessors(unsigned processors, double others);

/// How many of the processors that this process may use others leave it, from
/// the time that they were busy without us. Used by one thread.
class SpareProcessors {
public:
  SpareProcessors();
  /// Looks four times a second; where the system does not tell, all are spare.
  unsigned count();

private:
  struct Usage {
    double time = 0, busy = 0, own = 0; // in seconds
  };
  Usage now() const;

  cpu_set_t set;
  unsigned spare;
  int64_t next = 0; // when to look, in milliseconds
  Usage last;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H
