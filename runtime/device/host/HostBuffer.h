//===- HostBuffer.h - memory that the processor can address ---------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTBUFFER_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTBUFFER_H

#include "runtime/device/Buffer.h"

namespace zerograph {

/// Memory of this process, which outlives the buffer. Besides the host device,
/// collectives that the processor works on address it.
class HostBuffer : public Buffer {
public:
  HostBuffer(void *data, uint64_t bytes)
      : begin(static_cast<std::byte *>(data)), size(bytes) {}

  std::byte *data() const { return begin; }

  uint64_t bytes() const override { return size; }
  absl::Status write(uint64_t offset, const void *from,
                     uint64_t bytes) override;
  absl::Status read(uint64_t offset, void *to, uint64_t bytes) const override;
  absl::Status fill(uint64_t offset, uint64_t bytes) override;
  /// The whole of it, unless a subclass knows better.
  absl::StatusOr<uint64_t> touchedEnd(uint64_t) const override { return size; }

private:
  std::byte *addressOnHost() const override { return begin; }
  absl::Status check(uint64_t offset, uint64_t bytes) const;

  std::byte *begin;
  uint64_t size;
};

/// Returns where a range lies, for as long as its buffer lives; an error where
/// the processor cannot address it, or the buffer ends before the range.
absl::StatusOr<std::byte *> hostAddress(const DeviceRange &range);
/// Returns the address of each of the ranges.
absl::StatusOr<std::vector<std::byte *>>
hostAddresses(const std::vector<DeviceRange> &ranges);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTBUFFER_H
