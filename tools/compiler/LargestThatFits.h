//===- LargestThatFits.h - how much fits into a memory --------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_LARGESTTHATFITS_H
#define ZEROGRAPH_TOOLS_COMPILER_LARGESTTHATFITS_H

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace zerograph {

/// Says what one size needs, of how much, and whether it fits; which may have
/// another reason.
struct Room {
  uint64_t bytes = 0, usable = 0;
  bool fits = false;
};

/// A size that was asked for, and the answer.
struct SizeRoom {
  uint64_t size = 0;
  Room room;
};

/// Bounds what fits: `fits` is the largest that does, `refused` the smallest
/// that does not; each is empty where there is none.
struct LargestFit {
  std::optional<SizeRoom> fits, refused;
};

/// Finds the largest of `sizes`, which ascend and are not empty, that fits.
/// Memory is taken to grow about evenly with a size, so guesses are where it
/// should end by what is known; every other one halves what is left. `ask` is
/// called at most 24 times: usually enough until no size is left between `fits`
/// and `refused`. Returns its first error.
absl::StatusOr<LargestFit>
largestThatFits(const std::vector<uint64_t> &sizes,
                absl::FunctionRef<absl::StatusOr<Room>(uint64_t)> ask);

/// The most samples of a micro-batch that is chosen, and the most micro-batches
/// of a rank and step.
constexpr uint64_t kMostSamples = 1 << 16;
constexpr int64_t kMostParts = 1 << 20;

/// Returns the micro-batches to choose from, ascending: of a rank that has
/// `part` samples of each step, those that divide them, of 0 all, up to `most`.
/// None breaks the two limits.
std::vector<uint64_t> microBatchSizes(uint64_t part,
                                      uint64_t most = UINT64_MAX);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_LARGESTTHATFITS_H
