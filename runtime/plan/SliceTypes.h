//===- SliceTypes.h - of what type the bytes of slices are ----------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_SLICETYPES_H
#define ZEROGRAPH_RUNTIME_PLAN_SLICETYPES_H

#include "runtime/plan/plan.pb.h"

#include <functional>
#include <string>
#include <vector>

namespace zerograph {

/// By the number of the slice, of a plan with valid slices and steps: what its
/// declaration and the steps that touch it say; a copy takes the type along.
/// ELEMENT_INVALID where nobody says it, and of working space. Where two say
/// different things, `differ` is told, if there is one; the first counts.
std::vector<plan::ElementType>
sliceTypes(const plan::Plan &plan,
           const std::function<void(const std::string &)> &differ = nullptr);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_SLICETYPES_H
