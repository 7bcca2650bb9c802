//===- CoveringSample.cpp - few of many combinations ----------------------===//

#include "tests/support/CoveringSample.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace zerograph::testing {
namespace {

/// Two options, each before its value.
using Pair = std::array<int64_t, 4>;

std::vector<Pair> pairsOf(const Combination &combination) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < combination.size(); ++i) {
    for (size_t j = i + 1; j < combination.size(); ++j) {
      pairs.push_back({int64_t(i), combination[i], int64_t(j), combination[j]});
    }
  }
  return pairs;
}

} // namespace

std::vector<Combination> allCombinations(const std::vector<int64_t> &values) {
  std::vector<Combination> all = {{}};
  for (int64_t count : values) {
    std::vector<Combination> longer;
    for (const Combination &begun : all) {
      for (int64_t value = 0; value < count; ++value) {
        longer.push_back(begun);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<size_t> coveringSample(const std::vector<Combination> &all) {
  std::set<Pair> left;
  for (const Combination &combination : all) {
    for (const Pair &pair : pairsOf(combination)) {
      left.insert(pair);
    }
  }
  std::vector<size_t> sample;
  while (!left.empty()) {
    size_t best = 0, most = 0;
    for (size_t number = 0; number < all.size(); ++number) {
      std::vector<Pair> pairs = pairsOf(all[number]);
      size_t fresh =
          std::count_if(pairs.begin(), pairs.end(),
                        [&](const Pair &pair) { return left.contains(pair); });
      if (fresh > most) {
        best = number;
        most = fresh;
      }
    }
    for (const Pair &pair : pairsOf(all[best])) {
      left.erase(pair);
    }
    sample.push_back(best);
  }
  return sample;
}

} // namespace zerograph::testing
