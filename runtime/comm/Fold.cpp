//===- Fold.cpp - the one order in which contributions are added ----------===//

#include "runtime/comm/Fold.h"

#include "runtime/plan/Supported.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// Elements in the first-level cache with all their contributions.
constexpr uint64_t kBlock = 2048;

template <typename Element>
void fold(std::byte *to, bool accumulate,
          absl::Span<const std::byte *const> contributions, uint64_t elements) {
  for (uint64_t begin = 0; begin < elements; begin += kBlock) {
    uint64_t count = std::min(kBlock, elements - begin);
    Element *__restrict sum = reinterpret_cast<Element *>(to) + begin;
    if (!accumulate) {
      // Adding to +0.0, not copying: -0.0 becomes +0.0.
      std::fill_n(sum, count, Element(0));
    }
    for (const std::byte *contribution : contributions) {
      const Element *__restrict values =
          reinterpret_cast<const Element *>(contribution) + begin;
      for (uint64_t i = 0; i < count; ++i) {
        sum[i] += values[i];
      }
    }
  }
}

} // namespace

absl::Status zerograph::checkFoldType(plan::ElementType type) {
  return needReducible(type, type);
}

void zerograph::foldContributions(
    plan::ElementType type, std::byte *accumulator, bool accumulate,
    absl::Span<const std::byte *const> contributions, uint64_t bytes) {
  if (type == plan::F32) {
    fold<float>(accumulator, accumulate, contributions, bytes / sizeof(float));
  } else {
    fold<double>(accumulator, accumulate, contributions,
                 bytes / sizeof(double));
  }
}
