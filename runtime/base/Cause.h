//===- Cause.h - which of several failures is told ------------------------===//
//
// Where one part fails, the others end because of it: a stream, a device or a
// rank that is cancelled knows nothing of the failure, an aborted collective
// knows that another rank failed.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_CAUSE_H
#define ZEROGRAPH_RUNTIME_BASE_CAUSE_H

#include "absl/status/status.h"

namespace zerograph {

/// Does `status` only follow from a failure elsewhere?
inline bool isCollateral(const absl::Status &status) {
  return absl::IsCancelled(status) || absl::IsAborted(status);
}

/// Does `status` say more of the cause than `other`? Of two that say as much,
/// neither does.
inline bool isNearerToCause(const absl::Status &status,
                            const absl::Status &other) {
  auto rank = [](const absl::Status &s) {
    return s.ok() ? 0 : absl::IsCancelled(s) ? 1 : absl::IsAborted(s) ? 2 : 3;
  };
  return rank(status) > rank(other);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_CAUSE_H
