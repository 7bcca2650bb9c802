//===- SpareProcessors.h - what others use of our processors --------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H

#include "runtime/device/host/FairShare.h"

#include <cstdint>
#include <sched.h>
#include <string>

namespace zerograph {

/// The numbers of /proc/stat (proc(5)).
struct ProcessorStat {
  uint64_t busy = 0;     // clock ticks, of the processors of a set
  unsigned all = 0;      // processors of the machine
  unsigned runnable = 0; // threads of the machine that run or wait to
};
ProcessorStat readProcessorStat(const std::string &stat, const cpu_set_t &set);

/// Ranks that share processors: `processes` processes, each with `ranks` ranks
/// that are threads of it, each of which has a pool of `threads` threads.
struct RanksHere {
  unsigned threads = 1, ranks = 1, processes = 1;
};

/// How many threads of its pool a rank uses while others are busy. Other
/// processes of the run are taken to do what this one does: they train the same
/// plan in the same steps. Used by one thread.
class SpareProcessors {
public:
  explicit SpareProcessors(const RanksHere &here);
  /// Looks four times a second; where the system does not tell, all.
  unsigned threads();

private:
  struct Usage {
    double time = 0, busy = 0, own = 0; // in seconds
    double runnable = 0;                // on our processors
    unsigned own_runnable = 0;          // threads of this process
  };
  Usage look() const;

  RanksHere here;
  cpu_set_t set;
  ShareFollower follower;
  unsigned count;
  int64_t next = 0; // when to look, in milliseconds
  Usage last;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H
