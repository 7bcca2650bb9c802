//===- IndexRange.h - legal values of integer inputs ----------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_INDEXRANGE_H
#define ZEROGRAPH_FRONTEND_WALK_INDEXRANGE_H

#include <cstdint>
#include <optional>
#include <set>

namespace zerograph::frontend {

/// Legal values of an integer input, as far as its uses tell.
struct IndexRange {
  int64_t low = INT64_MIN, high = INT64_MAX;
  /// Also legal, outside of [low, high].
  std::set<int64_t> ignored;

  bool contains(int64_t value) const {
    return (value >= low && value <= high) || ignored.count(value) != 0;
  }
  /// Returns what both contain.
  IndexRange meet(const IndexRange &other) const;
  /// Returns what either contains, and all between the two.
  IndexRange join(const IndexRange &other) const;
};

/// The bounds that the uses of an input say: those of the whole input, and
/// those of parts of it, which say nothing about the other parts.
struct IndexUses {
  std::optional<IndexRange> whole, parts;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_INDEXRANGE_H
