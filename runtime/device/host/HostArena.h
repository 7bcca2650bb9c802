//===- HostArena.h - an arena in anonymous memory -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTARENA_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTARENA_H

#include "runtime/device/host/HostBuffer.h"

#include <memory>

namespace zerograph {

/// `bytes` of memory at a multiple of `alignment`, and of 2 MiB where it is at
/// least that large (so that the kernel may use huge pages). It begins full of
/// quiet NaNs: reading before writing shows, and so does the highest byte ever
/// written.
absl::StatusOr<std::unique_ptr<HostBuffer>> makeHostArena(uint64_t bytes,
                                                          uint64_t alignment);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTARENA_H
