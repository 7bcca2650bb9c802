//===- HostMemory.h - how much memory there is ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTMEMORY_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTMEMORY_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>

namespace zerograph {

/// Bytes, as the kernel states them (/proc/meminfo, cgroup v2); nothing where
/// it does not.
struct HostMemory {
  std::optional<uint64_t> total;
  std::optional<uint64_t> available; ///< without swapping
  std::optional<uint64_t> swap;      ///< free
  std::optional<uint64_t> limit;     ///< that this process's group has
};
HostMemory hostMemory();

/// Refuses `bytes` that the machine has not: it would end this process, or
/// another, without a word.
absl::Status checkMemory(uint64_t bytes, const HostMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTMEMORY_H
