//===- Checks.h - what kinds of steps ask of their accesses ---------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_STEPS_CHECKS_H
#define ZEROGRAPH_RUNTIME_PLAN_STEPS_CHECKS_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <initializer_list>
#include <string>

namespace zerograph::steps {

template <typename... Args>
absl::Status invalid(const Args &...args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// Each: OK, or what is wrong with the accesses of a step. The accesses must
// exist and be valid; only `needAccesses`, which counts them, takes any.

absl::Status needAccesses(const plan::Step &step, int count);
absl::Status needMode(const plan::Step &step, int index,
                      std::initializer_list<plan::Mode> modes);
/// Accesses a and b share no byte on any rank.
absl::Status needApart(const plan::Plan &plan, const plan::Step &step, int a,
                       int b);
/// Access `index` begins at whole elements of `element` bytes on every rank.
absl::Status needAligned(const plan::Plan &plan, const plan::Step &step,
                         int index, uint64_t element);

/// Checks the accesses of a library call: two operands that are read, a result
/// of mode `result`, a bias if it has one and, if there is one access more,
/// scratch; what is written lies apart from the rest. All but scratch are of
/// whole elements.
absl::Status needLibraryAccesses(const plan::Plan &plan, const plan::Step &step,
                                 uint64_t element,
                                 plan::Mode result = plan::WRITE,
                                 bool bias = false);

/// Checks that the step's device has a library that computes with `type`, which
/// is one of `types`; `does` is what it does with them, as "multiplies".
absl::Status needLibraryType(const plan::Target &device,
                             absl::Span<const plan::ElementType> types,
                             plan::ElementType type, absl::string_view does);

/// Axes that exist, in ascending order.
absl::Status needAxes(const plan::Plan &plan,
                      const google::protobuf::RepeatedField<uint32_t> &axes);
/// Checks the group of a collective: at least one of them.
absl::Status needGroup(const plan::Plan &plan, const plan::Step &step);
/// Accesses `whole` and `part` are a segment, the same on every rank of the
/// group, and this rank's part of it, which lies apart or, of the same type, in
/// its place.
absl::Status needSegment(const plan::Plan &plan, const plan::Step &step,
                         int whole, int part, uint64_t elements,
                         plan::ElementType type, plan::ElementType part_type);

} // namespace zerograph::steps

#endif // ZEROGRAPH_RUNTIME_PLAN_STEPS_CHECKS_H
