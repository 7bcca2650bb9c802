//===- Supported.h - types and names that a runtime can work with ---------===//
//
// The format can say more than a runtime can do. A plan that asks for such a
// thing is refused before it runs, not by the step that meets it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_SUPPORTED_H
#define ZEROGRAPH_RUNTIME_PLAN_SUPPORTED_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <optional>
#include <string>

namespace zerograph {

/// An error where a sound plan asks for what no runtime of this build can do:
/// several axes, unknown devices.
absl::Status checkSupported(const plan::Plan &plan);

/// An error unless contributions of type `wire` can be added up over ranks in
/// type `accumulator`.
absl::Status needReducible(plan::ElementType wire,
                           plan::ElementType accumulator);

/// Types that a device's library multiplies, of those that plans can have.
/// Products of other types are generated kernels.
absl::Span<const plan::ElementType> multiplied(const plan::Target &device);

/// Returns whether a device's library takes convolutions of this type. Those of
/// other types are generated products.
bool canConvolve(const plan::Target &device, plan::ElementType type);

/// The scalars that a runtime computes. `step` counts the steps of the run,
/// from 1; `update` the updates made, this one included. A step may make none.
/// `lr` and beta1 are what the schedule makes of the group's.
enum class ScalarKind {
  learning_rate,         // lr
  gradient_scale,        // 1 / (ranks * micro-batches * loss_scale)
  loss_scale,            // what backward begins with
  step_size,             // lr / (1 - beta1^update)
  bias_correction2_sqrt, // sqrt(1 - beta2^update)
  decay,                 // 1 - lr * weight_decay
  one_minus_beta1,       // of the beta1 that the schedule cycles
  stop,                  // 1 if this rank wants to stop after the step
  weight,                // by which a micro-batch of an evaluation counts
  // Whole numbers. Of the first three random ones are made.
  seed,        // the run's
  step,        // of the run
  sample_base, // the micro-batch's first sample, counted in the global batch
  rank,        // of those that share units: which shards are this one's
};

/// Returns whether a scalar can be of this type: i64 where it is a whole
/// number, f32 as the stop flag, else f32 or f64.
constexpr bool canHave(ScalarKind kind, plan::ElementType type) {
  switch (kind) {
  case ScalarKind::seed:
  case ScalarKind::step:
  case ScalarKind::sample_base:
  case ScalarKind::rank:
    return type == plan::I64;
  case ScalarKind::stop:
    return type == plan::F32;
  default:
    return type == plan::F32 || type == plan::F64;
  }
}

/// Returns whether it is of a group of parameters, and each group may have
/// another.
constexpr bool isOfGroup(ScalarKind kind) {
  return kind == ScalarKind::learning_rate || kind == ScalarKind::step_size ||
         kind == ScalarKind::bias_correction2_sqrt ||
         kind == ScalarKind::decay || kind == ScalarKind::one_minus_beta1;
}

/// The scalar of this name, if there is one.
std::optional<ScalarKind> scalarKind(absl::string_view name);

/// Returns whether the plan makes random numbers, of the run's seed.
bool isRandom(const plan::Plan &plan);

/// All their names, for messages.
std::string scalarNames();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_SUPPORTED_H
