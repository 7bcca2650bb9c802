//===- Scalars.h - the numbers that change from step to step --------------===//
//
// Their formulas and types are in runtime/plan/plan.proto. The runtime computes
// those of f32 in double and rounds once.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_SCALARS_H
#define ZEROGRAPH_RUNTIME_EXEC_SCALARS_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <map>
#include <optional>

namespace zerograph {

/// The inputs of a step's scalars. The two counters are equal until a step is
/// made that updates nothing.
struct ScalarInputs {
  /// Replaces the learning rates of the plan's groups; the schedule goes by it
  /// as by those.
  std::optional<double> learning_rate;
  /// The step of the run, counted from 1; random numbers depend on it.
  uint64_t step = 1;
  /// The update that this step makes if it makes one, counted from 1; the
  /// optimizer's corrections depend on it.
  uint64_t update = 1;
  bool stop = false;
  /// The weight of the micro-batch, in an evaluation.
  double weight = 1;
  uint64_t seed = 0;
  /// The position of the micro-batch's first sample in the global batch.
  uint64_t sample_base = 0;
  /// The factor of the step's losses before backward.
  double loss_scale = 1;
  uint64_t rank = 0;
  /// Replace the learning rates of groups, by number, and the schedule.
  std::map<uint32_t, double> fixed_rates = {};
};

/// Returns the learning rate of the update that the step makes, for a group of
/// parameters.
double learningRate(const plan::Plan &plan, const ScalarInputs &inputs,
                    uint32_t group = 0);

/// Returns the value of a floating-point scalar of a group of parameters,
/// before rounding; whole numbers and unknown kinds are an error.
absl::StatusOr<double> scalarValue(const plan::Plan &plan,
                                   plan::Scalar::Kind kind,
                                   const ScalarInputs &inputs,
                                   uint32_t group = 0);

/// Writes the bytes of a scalar of the plan, as many as its type has.
absl::Status writeScalar(const plan::Plan &plan, const plan::Scalar &scalar,
                         const ScalarInputs &inputs, void *to);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_SCALARS_H
