//===- TrainingPrograms.h - what a step of training runs ------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_TRAININGPROGRAMS_H
#define ZEROGRAPH_RUNTIME_EXEC_TRAININGPROGRAMS_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <optional>

namespace zerograph {

/// The programs of a plan that trains, by their positions.
struct TrainingPrograms {
  unsigned micro = 0;               // runs once a micro-batch,
  std::optional<unsigned> update;   // then this once, unless `micro` does both
  uint64_t micro_batches = 1;       // of a rank and step
  std::optional<unsigned> evaluate; // between steps, if the plan evaluates

  static absl::StatusOr<TrainingPrograms> of(const plan::Plan &plan);
  /// Raises positions by `first`: those of other plans come before.
  void moveBy(unsigned first);
};

/// Returns the factor that turns a sum over ranks and micro-batches into a
/// mean, where the plan has no count of losses; for gradients, with a loss
/// scale of 1.
double gradientScale(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_TRAININGPROGRAMS_H
