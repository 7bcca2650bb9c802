//===- CoveringSample.h - few of many combinations, each pair among them --===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_COVERINGSAMPLE_H
#define ZEROGRAPH_TESTS_SUPPORT_COVERINGSAMPLE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zerograph::testing {

/// The number of a value, of each option.
using Combination = std::vector<int64_t>;

/// Returns all combinations of options with so many values; the last one's
/// changes fastest.
std::vector<Combination> allCombinations(const std::vector<int64_t> &values);

/// Positions of combinations such that each two values of two options that meet
/// in `all` meet in one of them: again and again the one with most pairs that
/// none has yet. All combinations have the same options.
std::vector<size_t> coveringSample(const std::vector<Combination> &all);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_COVERINGSAMPLE_H
