//===- Convert.h - numbers in another type --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_CONVERT_H
#define ZEROGRAPH_RUNTIME_STATE_CONVERT_H

#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <cstdint>

namespace zerograph {

/// Returns whether elements of one type can become those of another: any type
/// its own, and F32, BF16 and F16 each other.
bool canConvert(plan::ElementType from, plan::ElementType to);

/// Writes `count` elements as another type, rounded to nearest even as
/// kernels round. The types can be converted; any alignment; the bytes are
/// apart.
void convertElements(plan::ElementType from, const std::byte *source,
                     plan::ElementType to, std::byte *destination,
                     uint64_t count);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_CONVERT_H
