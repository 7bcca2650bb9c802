//===- HostArena.cpp - an arena in anonymous memory -----------------------===//

#include "runtime/device/host/HostArena.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace zerograph;

namespace {

constexpr uint64_t kLargePage = 2 << 20;
constexpr uint64_t kPage = 4096;

/// A NaN as f32, as f64 and, by halves, as bf16, and none that arithmetic makes
/// by itself: so what was written can be told from what was not, in units of an
/// element. In single bytes it can't: other NaNs end with 0x7f as well.
constexpr uint32_t kPattern = 0x7fffffff;

uint8_t patternAt(uint64_t offset) { return offset % 4 == 3 ? 0x7f : 0xff; }

class HostArena final : public HostBuffer {
public:
  HostArena(std::byte *mapping, uint64_t mapped, std::byte *data,
            uint64_t bytes)
      : HostBuffer(data, bytes), mapping(mapping), mapped(mapped) {}
  ~HostArena() override { munmap(mapping, mapped); }

  absl::StatusOr<uint64_t> touchedEnd(uint64_t granule) const override {
    uint64_t end = bytes();
    while (end % 4 != 0 && isUntouched(end, 1)) {
      --end;
    }
    if (end % 4 != 0) {
      return end;
    }
    while (end > 0 && isUntouched(end, 4)) {
      end -= 4;
    }
    while (end > 0 && isUntouched(end, granule)) {
      end -= granule;
    }
    return end;
  }

private:
  /// The last `count` bytes before `end`.
  bool isUntouched(uint64_t end, uint64_t count) const {
    for (uint64_t i = end - count; i < end; ++i) {
      if (std::to_integer<uint8_t>(data()[i]) != patternAt(i)) {
        return false;
      }
    }
    return true;
  }

  std::byte *mapping;
  uint64_t mapped;
};

} // namespace

absl::StatusOr<std::unique_ptr<HostBuffer>>
zerograph::makeHostArena(uint64_t bytes, uint64_t alignment) {
  if (!std::has_single_bit(alignment)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an arena's alignment is ", alignment, ", expected a power of two"));
  }
  uint64_t align =
      std::max(alignment, bytes >= kLargePage ? kLargePage : kPage);
  if (bytes > (uint64_t(1) << 47) || align > (uint64_t(1) << 40)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an arena of ", bytes, " bytes aligned to ", alignment,
                     " exceeds the address space"));
  }
  // An anonymous mapping begins at a page; the rest is for aligning upwards.
  uint64_t mapped = (std::max<uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage +
                    (align > kPage ? align : 0);
  void *mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate an arena of ", bytes,
                     " bytes: ", std::strerror(errno)));
  }
  auto address = reinterpret_cast<uintptr_t>(mapping);
  auto *data =
      reinterpret_cast<std::byte *>((address + align - 1) / align * align);
  if (bytes >= kLargePage) {
    madvise(data, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  }
  auto arena = std::make_unique<HostArena>(static_cast<std::byte *>(mapping),
                                           mapped, data, bytes);
  std::fill_n(reinterpret_cast<uint32_t *>(data), bytes / 4, kPattern);
  for (uint64_t i = bytes / 4 * 4; i < bytes; ++i) {
    data[i] = std::byte(patternAt(i));
  }
  return arena;
}
