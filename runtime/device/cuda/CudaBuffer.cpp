//===- CudaBuffer.cpp - memory of a GPU, and memory that it reaches -------===//

#include "runtime/device/cuda/CudaBuffer.h"

#include "runtime/device/cuda/CudaMemory.h"

#include <cstring>

using namespace zerograph;

namespace {

/// The pattern that HostArena begins with, for the same reason.
constexpr uint32_t kPattern = 0x7fffffff;

uint8_t patternAt(uint64_t offset) { return offset % 4 == 3 ? 0x7f : 0xff; }

/// The most that an arena may be aligned to; the driver gives pages and more.
constexpr uint64_t kMostAlignment = 4096;

class CudaBuffer final : public Buffer {
public:
  CudaBuffer(std::shared_ptr<CudaContext> context, uint64_t bytes)
      : context(std::move(context)), size(bytes) {}

  absl::Status allocate(plan::Space space) {
    pinned = space == plan::PINNED;
    uint64_t room = (std::max<uint64_t>(size, 1) + 3) / 4 * 4;
    ZG_ASSIGN_OR_RETURN(memory, space == plan::PINNED
                                    ? makePinnedMemory(context, room)
                                    : makeGpuMemory(context, room));
    begin = memory->address();
    if (std::byte *own = addressOnHost()) {
      auto *words = reinterpret_cast<uint32_t *>(own);
      std::fill(words, words + room / 4, kPattern);
      return absl::OkStatus();
    }
    ZG_CUDA(context->api, cuMemsetD32, begin, kPattern, room / 4);
    return arrived();
  }

  CUdeviceptr address() const { return begin; }
  uint64_t bytes() const override { return size; }

  absl::Status write(uint64_t offset, const void *from,
                     uint64_t count) override {
    ZG_RETURN_IF_ERROR(check(offset, count));
    if (std::byte *own = addressOnHost()) {
      std::memcpy(own + offset, from, count);
      return absl::OkStatus();
    }
    ZG_CUDA(context->api, cuMemcpyHtoD, begin + offset, from, count);
    return arrived();
  }
  absl::Status read(uint64_t offset, void *to, uint64_t count) const override {
    ZG_RETURN_IF_ERROR(check(offset, count));
    if (const std::byte *own = addressOnHost()) {
      std::memcpy(to, own + offset, count);
      return absl::OkStatus();
    }
    ZG_CUDA(context->api, cuMemcpyDtoH, to, begin + offset, count);
    return absl::OkStatus();
  }
  absl::Status fill(uint64_t offset, uint64_t count) override {
    ZG_RETURN_IF_ERROR(check(offset, count));
    if (std::byte *own = addressOnHost()) {
      std::memset(own + offset, 0, count);
      return absl::OkStatus();
    }
    ZG_CUDA(context->api, cuMemsetD8, begin + offset, 0, count);
    return arrived();
  }

  absl::StatusOr<uint64_t> touchedEnd(uint64_t granule) const override;

private:
  /// Pinned memory is the host's, at the same address.
  std::byte *addressOnHost() const override {
    return pinned ? reinterpret_cast<std::byte *>(begin) : nullptr;
  }
  /// The driver may return before the bytes are there, and the streams of
  /// programs do not wait for the default one ("API synchronization behavior"
  /// of the driver's manual).
  absl::Status arrived() const {
    ZG_CUDA(context->api, cuStreamSynchronize, nullptr);
    return absl::OkStatus();
  }
  absl::Status check(uint64_t offset, uint64_t count) const {
    if (offset > size || count > size - offset) {
      return absl::OutOfRangeError(
          absl::StrCat("bytes ", offset, " to ", offset + count,
                       " of a buffer of ", size, " were asked for"));
    }
    return context->enter();
  }

  std::shared_ptr<CudaContext> context;
  uint64_t size;
  std::unique_ptr<CudaMemory> memory;
  CUdeviceptr begin = 0;
  bool pinned = false;
};

absl::StatusOr<uint64_t> CudaBuffer::touchedEnd(uint64_t granule) const {
  std::vector<uint8_t> block(std::min(size, kBlockBytes));
  for (uint64_t end = size; end > 0;) {
    uint64_t start =
        end > kBlockBytes ? (end - 1) / kBlockBytes * kBlockBytes : 0;
    ZG_RETURN_IF_ERROR(read(start, block.data(), end - start));
    for (uint64_t i = end; i > start; --i) {
      if (block[i - 1 - start] != patternAt(i - 1)) {
        return std::min(size, (i + granule - 1) / granule * granule);
      }
    }
    end = start;
  }
  return 0;
}

} // namespace

absl::StatusOr<std::unique_ptr<Buffer>>
zerograph::makeCudaBuffer(std::shared_ptr<CudaContext> context,
                          plan::Space space, uint64_t bytes,
                          uint64_t alignment) {
  if (space != plan::DEVICE && space != plan::PINNED) {
    return absl::UnimplementedError(
        absl::StrCat("the plan has an arena in ", plan::Space_Name(space),
                     "; a GPU has DEVICE and PINNED memory only"));
  }
  if (alignment > kMostAlignment) {
    return absl::UnimplementedError(
        absl::StrCat("an arena is to be aligned to ", alignment,
                     " bytes, a GPU's are to ", kMostAlignment));
  }
  auto buffer = std::make_unique<CudaBuffer>(std::move(context), bytes);
  ZG_RETURN_IF_ERROR(annotate(
      buffer->allocate(space),
      absl::StrCat("an arena of ", bytes, " bytes in ", Space_Name(space))));
  return buffer;
}

absl::StatusOr<CUdeviceptr> zerograph::cudaAddress(const DeviceRange &range) {
  auto *buffer = dynamic_cast<const CudaBuffer *>(range.buffer);
  if (!buffer) {
    return absl::InvalidArgumentError(
        "memory of another device was given to the GPU");
  }
  if (range.offset > buffer->bytes() ||
      range.bytes > buffer->bytes() - range.offset) {
    return absl::OutOfRangeError(
        absl::StrCat("bytes ", range.offset, " to ", range.offset + range.bytes,
                     " of a buffer of ", buffer->bytes(), " were asked for"));
  }
  return buffer->address() + range.offset;
}

absl::StatusOr<std::vector<CUdeviceptr>>
zerograph::cudaAddresses(const std::vector<DeviceRange> &ranges) {
  std::vector<CUdeviceptr> addresses;
  for (const DeviceRange &range : ranges) {
    ZG_ASSIGN_OR_RETURN(CUdeviceptr address, cudaAddress(range));
    addresses.push_back(address);
  }
  return addresses;
}
