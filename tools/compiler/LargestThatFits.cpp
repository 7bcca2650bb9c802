//===- LargestThatFits.cpp - how much fits into a memory ------------------===//

#include "tools/compiler/LargestThatFits.h"

#include "runtime/base/Status.h"

#include <algorithm>

namespace zerograph {
namespace {

constexpr int kMostAnswers = 24;

/// Returns the size at which memory should end by a line through two answers;
/// twice the larger where the line does not rise.
double guess(const SizeRoom &first, const SizeRoom &last) {
  double slope = (double(last.room.bytes) - double(first.room.bytes)) /
                 std::max(1.0, double(last.size) - double(first.size));
  double left = double(first.room.usable) - double(first.room.bytes);
  return slope > 0 ? double(first.size) + left / slope : 2 * double(last.size);
}

} // namespace

absl::StatusOr<LargestFit>
largestThatFits(const std::vector<uint64_t> &sizes,
                absl::FunctionRef<absl::StatusOr<Room>(uint64_t)> ask) {
  LargestFit found;
  SizeRoom first;
  // The sizes in [begin, end) are left to try.
  auto begin = sizes.begin(), end = sizes.end();
  for (int asked = 0; begin != end && asked < kMostAnswers; ++asked) {
    auto next = begin;
    if (found.refused && asked % 2 == 0) {
      next += (end - begin) / 2; // for memory that does not grow evenly
    } else if (asked > 1) {
      double most = found.refused ? guess(*found.fits, *found.refused)
                                  : guess(first, *found.fits);
      next = std::upper_bound(begin, end, most, [](double at, uint64_t size) {
        return at < double(size);
      });
      next -= next != begin; // the last that should fit
    }
    ZG_ASSIGN_OR_RETURN(Room room, ask(*next));
    SizeRoom answer{*next, room};
    first = asked == 0 ? answer : first;
    (room.fits ? found.fits : found.refused) = answer;
    (room.fits ? begin : end) = next + (room.fits ? 1 : 0);
    if (!found.fits) {
      break; // the smallest does not
    }
  }
  return found;
}

std::vector<uint64_t> microBatchSizes(uint64_t part, uint64_t most) {
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1; size <= std::min(most, kMostSamples); ++size) {
    if (part == 0 ||
        (part % size == 0 && part / size <= uint64_t(kMostParts))) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

} // namespace zerograph
