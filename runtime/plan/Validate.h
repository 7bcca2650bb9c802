//===- Validate.h - is a plan structurally sound? -------------------------===//
//
// A plan comes from a file that anybody may have written. After this check
// every index is in range, every access lies inside its slice and every slice
// inside its arena for every rank, sizes agree with each other, and no sum or
// product of them overflows. Nothing here relies on the plan's good will;
// everything else may.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VALIDATE_H
#define ZEROGRAPH_RUNTIME_PLAN_VALIDATE_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// The alignment of an arena that is a file: what disks write at once.
inline constexpr uint64_t kFilePage = 4096;

/// OK, or the first thing that is wrong: its id (Findings.h), and where: the
/// step, slice, unit or input. Never crashes, whatever the plan.
absl::Status validatePlan(const plan::Plan &plan);

namespace detail {
/// Modules, kernels and what they touch. Devices are counted.
absl::Status validateKernels(const plan::Plan &plan);
/// Units, parameters and states. Slices must be valid.
absl::Status validateUnits(const plan::Plan &plan);
/// Adapters of parameters. Units must be valid.
absl::Status validateAdapters(const plan::Plan &plan);
/// Validate what the runtime writes before a program and reads after it. Slices
/// and programs must be valid.
absl::Status validateInputs(const plan::Plan &plan);
absl::Status validateScalars(const plan::Plan &plan);
absl::Status validateSlots(const plan::Plan &plan);
absl::Status validateTotals(const plan::Plan &plan);
absl::Status validateOutputs(const plan::Plan &plan);
/// A slice is at most one of a state, an input, an output, a scalar, a slot,
/// the loss and the stop flag, and of the class that goes with it; a carried
/// one is just one of them. Those must be valid.
absl::Status validateMeanings(const plan::Plan &plan);
} // namespace detail

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_VALIDATE_H
