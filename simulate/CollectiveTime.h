//===- CollectiveTime.h - how long ranks take to exchange -----------------===//
//
// NCCL's own tuning model, of version 2.28 (src/graph/tuning.cc): a ring whose
// time is latency of its hops plus bytes over bandwidth, by the fastest of
// three protocols. Sizes are those of what all ranks have together.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_SIMULATE_COLLECTIVETIME_H
#define ZEROGRAPH_SIMULATE_COLLECTIVETIME_H

#include "simulate/StepWork.h"

namespace zerograph::simulate {

/// Seconds, and those of them for which links within and between nodes carry
/// bytes.
struct Exchange {
  double seconds = 0, link = 0, network = 0;
};

/// Each rank gives its part of `bytes` to all others, or has the sum of its
/// part of theirs: the library's all-gather and reduce-scatter.
Exchange ringOf(double bytes, const Machine &machine, const Cluster &cluster);

/// Each rank sends every other its part of `bytes`, in chunks of `chunk` bytes
/// a rank.
Exchange allToAllOf(double bytes, double chunk, const Machine &machine,
                    const Cluster &cluster);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_COLLECTIVETIME_H
