//===- NotFinite.cpp - finds what is no number ----------------------------===//

#include "runtime/state/NotFinite.h"

#include <cstring>

using namespace zerograph;

namespace {

/// Finds numbers of an IEEE format of `Bits` from the magnitude that is
/// infinity; what is above it is NaN.
template <typename Bits>
std::optional<NotFinite> find(const std::byte *data, uint64_t count,
                              Bits infinity, bool infinite_allowed) {
  constexpr Bits kSign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  for (uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * sizeof(Bits), sizeof(Bits));
    Bits magnitude = bits & Bits(~kSign);
    if (magnitude < infinity || (magnitude == infinity && infinite_allowed)) {
      continue;
    }
    return NotFinite{i, magnitude > infinity  ? "NaN"
                        : (bits & kSign) != 0 ? "-inf"
                                              : "inf"};
  }
  return std::nullopt;
}

} // namespace

std::optional<NotFinite> zerograph::findNotFinite(plan::ElementType type,
                                                  const std::byte *data,
                                                  uint64_t count,
                                                  bool infinite_allowed) {
  switch (type) {
  case plan::F64:
    return find<uint64_t>(data, count, 0x7ff0000000000000, infinite_allowed);
  case plan::F32:
    return find<uint32_t>(data, count, 0x7f800000, infinite_allowed);
  case plan::F16:
    return find<uint16_t>(data, count, 0x7c00, infinite_allowed);
  case plan::BF16:
    return find<uint16_t>(data, count, 0x7f80, infinite_allowed);
  default:
    return std::nullopt;
  }
}
