//===- Fold.cpp - the one order in which contributions are added ----------===//

#include "runtime/comm/Fold.h"

#include "runtime/base/Half.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// The elements that fit the first-level cache with all their contributions.
constexpr uint64_t kBlock = 2048;

struct Same {
  template <typename Element>
  Element operator()(Element value) const {
    return value;
  }
};
struct FromBf16 {
  float operator()(uint16_t bits) const { return fromBf16(bits); }
};
struct FromF16 {
  float operator()(uint16_t bits) const { return fromF16(bits); }
};

/// Folds contributions, of which `widen` makes an Element of a Wire.
template <typename Wire, typename Element, typename Widen>
void fold(std::byte *to, bool accumulate,
          absl::Span<const std::byte *const> contributions, uint64_t elements,
          Widen widen) {
  for (uint64_t begin = 0; begin < elements; begin += kBlock) {
    uint64_t count = std::min(kBlock, elements - begin);
    Element *__restrict sum = reinterpret_cast<Element *>(to) + begin;
    if (!accumulate) {
      // The sum begins with +0.0, not with a copy: -0.0 becomes +0.0.
      std::fill_n(sum, count, Element(0));
    }
    for (const std::byte *contribution : contributions) {
      const Wire *__restrict values =
          reinterpret_cast<const Wire *>(contribution) + begin;
      for (uint64_t i = 0; i < count; ++i) {
        sum[i] += widen(values[i]);
      }
    }
  }
}

} // namespace

void zerograph::foldContributions(
    plan::ElementType wire, plan::ElementType type, std::byte *accumulator,
    bool accumulate, absl::Span<const std::byte *const> contributions,
    uint64_t elements) {
  if (wire == plan::BF16) {
    fold<uint16_t, float>(accumulator, accumulate, contributions, elements,
                          FromBf16());
  } else if (wire == plan::F16) {
    fold<uint16_t, float>(accumulator, accumulate, contributions, elements,
                          FromF16());
  } else if (type == plan::F32) {
    fold<float, float>(accumulator, accumulate, contributions, elements,
                       Same());
  } else {
    fold<double, double>(accumulator, accumulate, contributions, elements,
                         Same());
  }
}
