//===- LossScaler.h - what float16's backward begins with -----------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_LOSSSCALER_H
#define ZEROGRAPH_RUNTIME_EXEC_LOSSSCALER_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/Index.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// The scale of each step, after what the steps before found; each rank has the
/// same. Its arithmetic is that of DeepSpeed's `DynamicLossScaler`
/// (deepspeed/runtime/fp16/loss_scaler.py), or of its static `LossScaler`.
class LossScaler {
public:
  /// Begins with a scale of 1 where the plan has none.
  explicit LossScaler(const plan::Plan &plan);

  /// Returns the scale of the step to come.
  double scale() const { return current; }

  /// Tells it, after a step, whether gradients overflowed. It is an error where
  /// they did at the least scale.
  absl::Status update(bool overflow);

  /// Returns, between steps, what it goes on with; nothing where no scale
  /// changes.
  std::optional<SavedLossScale> state() const;
  /// Goes on as an earlier run would have; a scale that stays is the plan's.
  void restore(const SavedLossScale &state);

private:
  plan::LossScale options;
  double current = 1;
  int64_t steps = 0;
  int64_t last_overflow = -1;
  uint32_t hysteresis = 1; // overflows until the scale is halved
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_LOSSSCALER_H
