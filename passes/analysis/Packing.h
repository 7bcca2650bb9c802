//===- Packing.h - places buffers into one arena --------------------------===//
//
// No IR here: buffers, when they are live, and which of them must not share
// bytes. passes/memory applies it to slices.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_ANALYSIS_PACKING_H
#define ZEROGRAPH_PASSES_ANALYSIS_PACKING_H

#include "passes/analysis/VectorClocks.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace mlir::zg {

/// A buffer that programs do not pass on to each other.
struct PackedBuffer {
  int64_t bytes = 0;
  /// By program that uses it, at least one: the steps that do, ascending.
  std::map<unsigned, std::vector<unsigned>> uses;
};

/// Says which buffers must not share bytes, by a bit for each pair: all
/// gradients of a large model meet.
class Conflicts {
public:
  explicit Conflicts(std::size_t buffers)
      : words((buffers + 63) / 64), bits(buffers * words) {}

  void add(unsigned a, unsigned b) {
    row(a)[b / 64] |= uint64_t(1) << b % 64;
    row(b)[a / 64] |= uint64_t(1) << a % 64;
  }
  /// Calls `visit` with those that conflict with `buffer`, ascending, of the
  /// ones whose bit is set in `among`.
  template <typename Visit>
  void forEach(unsigned buffer, const std::vector<uint64_t> &among,
               Visit visit) const {
    const uint64_t *own = bits.data() + buffer * words;
    for (std::size_t word = 0; word < words; ++word) {
      for (uint64_t left = own[word] & among[word]; left; left &= left - 1) {
        visit(unsigned(word * 64 + std::countr_zero(left)));
      }
    }
  }

private:
  uint64_t *row(unsigned buffer) { return bits.data() + buffer * words; }

  std::size_t words; // a row
  std::vector<uint64_t> bits;
};

/// Two buffers conflict unless, in each program that uses both, every use of
/// one happens before every use of the other. `clocks[p]` orders the steps of
/// program p.
Conflicts findConflicts(const std::vector<PackedBuffer> &buffers,
                        const std::vector<VectorClocks> &clocks);

struct Packing {
  /// The offset of each buffer, multiples of the alignment.
  std::vector<int64_t> offsets;
  /// End of the highest buffer.
  int64_t peak = 0;
  /// No packing ends lower, sizes taken as multiples of the alignment: most
  /// bytes that are live at one step in issue order. Two buffers live at the
  /// same step conflict, whatever the streams.
  int64_t lowerBound = 0;
  /// The order of placement that won, for statistics.
  unsigned order = 0;
};

/// Places the buffers at `base` or above. Skyline: of the unplaced buffers the
/// one with the lowest floor goes there, ties by rank; six ranks are tried
/// until one meets the lower bound, and the best is kept.
Packing pack(const std::vector<PackedBuffer> &buffers,
             const Conflicts &conflicts, int64_t alignment, int64_t base);

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_ANALYSIS_PACKING_H
