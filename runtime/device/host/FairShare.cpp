//===- FairShare.cpp - how many processors to use beside others -----------===//

#include "runtime/device/host/FairShare.h"

#include <algorithm>

using namespace zerograph;

double zerograph::toleratedLoad(unsigned processors) {
  return std::max(0.25, processors / 32.0);
}

double zerograph::fairShare(unsigned processors, unsigned threads,
                            const Load &load) {
  if (load.others <= toleratedLoad(processors)) {
    return processors;
  }
  // A process that used so much time was runnable for as long, at least: a
  // sample of the runnable may have missed it.
  double runnable = std::max(load.runnable, load.others);
  double floor = double(processors) * threads / (threads + runnable);
  return std::min<double>(processors,
                          std::max(floor, processors - load.others));
}

ShareFollower::ShareFollower(unsigned processors, unsigned threads)
    : processors(std::max(1u, processors)), threads(std::max(1u, threads)),
      most(std::min(this->processors, this->threads)), now(most) {}

/// `now`, unless the share is outside of a band around it: it is wider below,
/// so that what asked for less does not at once ask for more.
unsigned ShareFollower::wanted(double share) const {
  double band = toleratedLoad(processors);
  unsigned whole = std::clamp(unsigned(share), 1u, most);
  if (whole < now && share < now - 2 * band) {
    return whole;
  }
  bool clear = share >= now + band || share >= most;
  return whole > now && clear ? whole : now;
}

unsigned ShareFollower::next(const Load &load) {
  constexpr int kInARow = 3;
  unsigned asked = wanted(fairShare(processors, threads, load));
  if (asked > now) {
    nearest = higher > 0 ? std::min(nearest, asked) : asked;
    ++higher;
    lower = 0;
  } else if (asked < now) {
    nearest = lower > 0 ? std::max(nearest, asked) : asked;
    ++lower;
    higher = 0;
  } else {
    higher = lower = 0;
  }
  if (std::max(higher, lower) >= kInARow) {
    now = nearest;
    higher = lower = 0;
  }
  return now;
}

unsigned ShareFollower::perRank(unsigned ranks) const {
  ranks = std::max(1u, ranks);
  return std::max(1u, (now == most ? threads : now) / ranks);
}
