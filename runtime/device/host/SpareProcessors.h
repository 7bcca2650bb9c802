//===- SpareProcessors.h - what others use of our processors --------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_SPAREPROCESSORS_H

#include <cstdint>
#include <sched.h>
#include <string>

namespace zerograph {

/// The use of processors over some time.
struct Load {
  double others = 0;   // processors' worth of time that others used
  double runnable = 0; // threads of others that ran or waited to run
};

/// Processors that others may use without being counted: what the system does
/// beside, and errors of measuring, which grow with their number.
double toleratedLoad(unsigned processors);

/// Processors, of `processors`, that `threads` threads of ours should use: what
/// others leave, but never less than the share that a fair scheduler would give
/// to all of our threads, processors * threads / (threads + runnable). Without
/// that floor, a neighbour that takes whatever is left would get all. All of
/// them where others use less than is tolerated.
double fairShare(unsigned processors, unsigned threads, const Load &load);

/// The number of processors to use, as shares are seen one after another.
/// Changes only where several in a row ask for it, and then as little as they
/// ask for, so that it does not follow every burst.
class ShareFollower {
public:
  /// `threads`: of all our ranks, which may be more than the processors.
  ShareFollower(unsigned processors, unsigned threads);
  /// At least 1, at most the smaller of processors and threads.
  unsigned next(const Load &load);
  /// The threads of each of `ranks` ranks that have `threads / ranks`: all of
  /// them while nothing is taken, at least 1.
  unsigned perRank(unsigned ranks) const;

private:
  unsigned wanted(double share) const;

  unsigned processors, threads, most, now;
  // In a row, those that asked for more or for less; and the nearest to `now`.
  int higher = 0, lower = 0;
  unsigned nearest = 0;
};

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
