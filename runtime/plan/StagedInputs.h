//===- StagedInputs.h - what the runtime gives to programs ----------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_STAGEDINPUTS_H
#define ZEROGRAPH_RUNTIME_PLAN_STAGEDINPUTS_H

#include "runtime/plan/plan.pb.h"

#include <vector>

namespace zerograph {

/// The thing that arrives in a slice: an input of the plan, or a scalar, or
/// neither.
struct StagedInput {
  const plan::Input *input = nullptr;
  const plan::Scalar *scalar = nullptr;
  int number = -1; // of the input, or of the scalar

  explicit operator bool() const { return input || scalar; }
  bool isStopFlag() const;
  /// Returns whether it says which shards are the rank's.
  bool isPlace() const;
  /// Returns whether it differs from rank to rank: samples, what numbers them,
  /// and the wish to stop.
  bool isRanksOwn() const;
};

/// By slice. The slices of inputs and scalars must exist.
std::vector<StagedInput> stagedInputsOf(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_STAGEDINPUTS_H
