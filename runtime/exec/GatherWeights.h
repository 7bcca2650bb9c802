//===- GatherWeights.h - weights of all processes into one file -----------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H
#define ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/state/WeightFile.h"

namespace zerograph {

/// Ranks that share no files give what they own to rank 0, which writes all of
/// it; every rank calls it. `sink`: rank 0's is called, those of others are
/// not. Memory: a message of a MiB a rank.
absl::Status gatherWeights(ControlPlane &control, const std::string &what,
                           const WeightSink &sink, const plan::Plan &plan,
                           const WeightFileOptions &options,
                           const RankMemory &memory);

/// Every rank's part goes to every rank's `sink`; every rank calls it, and the
/// ranks are processes. Memory: a message of a MiB a rank.
absl::Status shareWeights(ControlPlane &control, const std::string &what,
                          const WeightSink &sink, const plan::Plan &plan,
                          const WeightFileOptions &options,
                          const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H
