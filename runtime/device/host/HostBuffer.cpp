//===- HostBuffer.cpp - memory that the processor can address -------------===//

#include "runtime/device/host/HostBuffer.h"

#include <cstring>

using namespace zerograph;

absl::Status HostBuffer::check(uint64_t offset, uint64_t bytes) const {
  if (offset <= size && bytes <= size - offset) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " to ",
                                            offset + bytes, " of a buffer of ",
                                            size, " were asked for"));
}

absl::Status HostBuffer::write(uint64_t offset, const void *from,
                               uint64_t bytes) {
  ZG_RETURN_IF_ERROR(check(offset, bytes));
  std::memcpy(begin + offset, from, bytes);
  return absl::OkStatus();
}

absl::Status HostBuffer::read(uint64_t offset, void *to, uint64_t bytes) const {
  ZG_RETURN_IF_ERROR(check(offset, bytes));
  std::memcpy(to, begin + offset, bytes);
  return absl::OkStatus();
}

absl::Status HostBuffer::fill(uint64_t offset, uint64_t bytes) {
  ZG_RETURN_IF_ERROR(check(offset, bytes));
  std::memset(begin + offset, 0, bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::byte *> zerograph::hostAddress(const DeviceRange &range) {
  const Buffer &buffer = *range.buffer;
  std::byte *begin = buffer.addressOnHost();
  if (!begin) {
    return absl::InvalidArgumentError(
        "memory that the processor cannot address was given to the host");
  }
  if (range.offset > buffer.bytes() ||
      range.bytes > buffer.bytes() - range.offset) {
    return absl::OutOfRangeError(
        absl::StrCat("bytes ", range.offset, " to ", range.offset + range.bytes,
                     " of a buffer of ", buffer.bytes(), " were asked for"));
  }
  return begin + range.offset;
}

absl::StatusOr<std::vector<std::byte *>>
zerograph::hostAddresses(const std::vector<DeviceRange> &ranges) {
  std::vector<std::byte *> addresses;
  for (const DeviceRange &range : ranges) {
    ZG_ASSIGN_OR_RETURN(std::byte * address, hostAddress(range));
    addresses.push_back(address);
  }
  return addresses;
}
