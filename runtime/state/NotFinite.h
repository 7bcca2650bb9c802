//===- NotFinite.h - finds what is no number ------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_NOTFINITE_H
#define ZEROGRAPH_RUNTIME_STATE_NOTFINITE_H

#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zerograph {

/// An element that is NaN or infinite.
struct NotFinite {
  uint64_t index;
  const char *name; // "NaN", "inf" or "-inf"
};

/// The first of `count` elements that is NaN or, unless `infinite_allowed`,
/// infinite; of integers none is. Any alignment.
std::optional<NotFinite> findNotFinite(plan::ElementType type,
                                       const std::byte *data, uint64_t count,
                                       bool infinite_allowed);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_NOTFINITE_H
