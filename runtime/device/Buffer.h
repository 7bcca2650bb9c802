//===- Buffer.h - memory that only its device dereferences ----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_BUFFER_H
#define ZEROGRAPH_RUNTIME_DEVICE_BUFFER_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zerograph {

struct DeviceRange;

/// Memory of a device, allocated once. `write`, `read` and `fill` return when
/// the bytes are there; no program that is running touches these bytes.
class Buffer {
public:
  virtual ~Buffer() = default;

  virtual uint64_t bytes() const = 0;
  virtual absl::Status write(uint64_t offset, const void *from,
                             uint64_t bytes) = 0;
  virtual absl::Status read(uint64_t offset, void *to,
                            uint64_t bytes) const = 0;
  /// Zero bytes.
  virtual absl::Status fill(uint64_t offset, uint64_t bytes) = 0;

  /// End of the highest `granule` bytes, 1, 2 or 4, of which some were written
  /// since allocation: 0 if none. Those written with the value that memory
  /// begins with do not count.
  virtual absl::StatusOr<uint64_t> touchedEnd(uint64_t granule) const = 0;

private:
  /// Returns where the processor has it; null where it cannot address it. It is
  /// for `hostAddress`, which says who may ask.
  virtual std::byte *addressOnHost() const { return nullptr; }
  friend absl::StatusOr<std::byte *> hostAddress(const DeviceRange &range);
};

/// The bytes of device memory that are in memory of the process at a time.
constexpr uint64_t kBlockBytes = 256 << 10;

/// Bytes [offset, offset + bytes) of a buffer: what everybody but its device
/// has in place of an address.
struct DeviceRange {
  Buffer *buffer = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  DeviceRange part(uint64_t begin, uint64_t size) const {
    return {buffer, offset + begin, size};
  }
  /// Whole: `bytes` bytes.
  absl::Status write(const void *from) const {
    return buffer->write(offset, from, bytes);
  }
  absl::Status read(void *to) const { return buffer->read(offset, to, bytes); }
  absl::Status fill() const { return buffer->fill(offset, bytes); }
};

/// Calls `visit(offset, data, bytes)` for all of a range, in order and in
/// blocks of at most kBlockBytes, multiples of 8 bytes but for the last; until
/// an error.
template <typename Visit>
absl::Status readBlocks(const DeviceRange &range, const Visit &visit) {
  std::vector<std::byte> block(std::min(range.bytes, kBlockBytes));
  for (uint64_t begin = 0; begin < range.bytes; begin += kBlockBytes) {
    uint64_t bytes = std::min(kBlockBytes, range.bytes - begin);
    ZG_RETURN_IF_ERROR(range.part(begin, bytes).read(block.data()));
    ZG_RETURN_IF_ERROR(visit(begin, block.data(), bytes));
  }
  return absl::OkStatus();
}

/// The same for writing: `make(offset, data, bytes)` makes each block.
template <typename Make>
absl::Status writeBlocks(const DeviceRange &range, const Make &make) {
  std::vector<std::byte> block(std::min(range.bytes, kBlockBytes));
  for (uint64_t begin = 0; begin < range.bytes; begin += kBlockBytes) {
    uint64_t bytes = std::min(kBlockBytes, range.bytes - begin);
    ZG_RETURN_IF_ERROR(make(begin, block.data(), bytes));
    ZG_RETURN_IF_ERROR(range.part(begin, bytes).write(block.data()));
  }
  return absl::OkStatus();
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_BUFFER_H
