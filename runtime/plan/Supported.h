//===- Supported.h - types and names that a runtime can work with ---------===//
//
// The format can say more than a runtime can do. A plan that asks for such a
// thing is refused before it runs, not by the step that meets it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_SUPPORTED_H
#define ZEROGRAPH_RUNTIME_PLAN_SUPPORTED_H

#include "options/Optimizers.h"
#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

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

/// Types that a device's library convolves. Convolutions of other types are
/// products.
absl::Span<const plan::ElementType> convolved(const plan::Target &device);

/// Returns whether a device is a GPU: its modules are PTX for the architecture
/// that it names, its library may round to TF32 and counts in 32 bits.
bool isGpu(const plan::Target &device);
bool isGpu(absl::string_view name);

/// Returns whether a scalar can be of this type: i64 where it is a whole
/// number, f32 as the stop flag, else f32 or f64.
constexpr bool canHave(plan::Scalar::Kind kind, plan::ElementType type) {
  switch (kind) {
  case plan::Scalar::SEED:
  case plan::Scalar::STEP:
  case plan::Scalar::SAMPLE_BASE:
  case plan::Scalar::RANK:
    return type == plan::I64;
  case plan::Scalar::STOP:
    return type == plan::F32;
  default:
    return type == plan::F32 || type == plan::F64;
  }
}

/// Returns which scalar of optimizers' formulas it is; `none` where it is none.
/// Each group of parameters may have another value of these.
options::Scalar formulaScalar(plan::Scalar::Kind kind);

/// Returns whether the plan makes random numbers, of the run's seed.
bool isRandom(const plan::Plan &plan);

/// Returns the names of all scalars, for messages.
std::string scalarNames();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_SUPPORTED_H
