//===- GatherWeights.h - weights of all processes into one file -----------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H
#define ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/state/WeightFile.h"

namespace zerograph {

/// Gives what ranks that share no files own to rank 0, which writes all of it;
/// every rank calls it. Of the sinks, only rank 0's is called. It takes memory
/// for a message of a MiB a rank.
absl::Status gatherWeights(ControlPlane &control, const std::string &what,
                           const WeightSink &sink, const plan::Plan &plan,
                           const WeightFileOptions &options,
                           const RankMemory &memory);

/// Gives every rank's part to every rank's `sink`; every rank calls it, and the
/// ranks are processes. It takes memory for a message of a MiB a rank.
absl::Status shareWeights(ControlPlane &control, const std::string &what,
                          const WeightSink &sink, const plan::Plan &plan,
                          const WeightFileOptions &options,
                          const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H
