//===- GatherWeights.h - weights of all ranks where they are wanted -------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H
#define ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/state/WeightFile.h"

namespace zerograph {

/// The processes whose sinks are given what ranks own.
enum class Receivers {
  Rank0, // that of rank 0
  All,
};

/// Gives what all ranks own to the `sink` of each receiver; every rank calls
/// it. Ranks of one process share what their sinks write to, and each gives
/// only what it owns to its own. Between processes it takes memory for a
/// message of a MiB a rank. Where it returns to a receiver, all is given.
absl::Status gatherWeights(ControlPlane &control, const std::string &what,
                           Receivers receivers, const WeightSink &sink,
                           const plan::Plan &plan,
                           const WeightFileOptions &options,
                           const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_GATHERWEIGHTS_H
