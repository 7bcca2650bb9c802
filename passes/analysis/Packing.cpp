//===- Packing.cpp - places buffers into one arena ------------------------===//

#include "passes/analysis/Packing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

using namespace mlir::zg;

namespace {

int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// On each stream: how many of its steps must be done before every use of the
/// buffer is, and how many are certain to be done before any use begins.
struct Extent {
  std::vector<unsigned> reach, ready;
};

Extent extentOf(const std::vector<unsigned> &uses, const VectorClocks &clocks) {
  unsigned streams = clocks.numStreams();
  Extent extent{std::vector<unsigned>(streams, 0),
                std::vector<unsigned>(streams, ~0u)};
  for (unsigned step : uses) {
    unsigned own = clocks.stream(step);
    extent.reach[own] = std::max(extent.reach[own], clocks.position(step) + 1);
    for (unsigned s = 0; s < streams; ++s) {
      // The step itself is not done when it begins.
      extent.ready[s] =
          std::min(extent.ready[s], clocks.done(step, s) - (s == own));
    }
  }
  return extent;
}

/// Returns whether all uses of the one that reaches that far are before the
/// other's.
bool allBefore(const unsigned *reach, const Extent &other) {
  for (size_t s = 0; s < other.ready.size(); ++s) {
    if (reach[s] > other.ready[s]) {
      return false;
    }
  }
  return true;
}

/// Bytes live at each step of a program, in issue order.
std::vector<int64_t> liveBytes(const std::vector<PackedBuffer> &buffers,
                               unsigned program, int64_t alignment) {
  std::vector<int64_t> delta;
  for (const PackedBuffer &buffer : buffers) {
    if (auto uses = buffer.uses.find(program); uses != buffer.uses.end()) {
      unsigned first = uses->second.front(), last = uses->second.back();
      delta.resize(std::max<size_t>(delta.size(), last + 2));
      delta[first] += alignUp(buffer.bytes, alignment);
      delta[last + 1] -= alignUp(buffer.bytes, alignment);
    }
  }
  std::partial_sum(delta.begin(), delta.end(), delta.begin());
  return delta;
}

/// The numbers that the ranks are made of: T = most bytes live during the
/// buffer's life, W = its length, A = W x size, Z = size.
struct Features {
  int64_t t, w, a, z;
};

using Rank = std::array<int64_t, 3>;

Rank rankOf(const Features &f, unsigned order) {
  switch (order) {
  case 0:
    return {f.t, f.w, f.a};
  case 1:
    return {f.w, f.a, f.t};
  case 2:
    return {f.t, f.a, f.w};
  case 3:
    return {f.z, f.w, f.t};
  case 4:
    return {f.a, f.w, f.t};
  default:
    return {f.t, f.z, f.w};
  }
}
constexpr unsigned kOrders = 6;

/// Unplaced buffers, as their places in rank order, by the floor that each had
/// when it was last looked at. A floor rises often before it is the lowest, so
/// this is cheaper than a heap that follows every rise.
class Levels {
public:
  Levels(int64_t base, unsigned size) {
    std::vector<unsigned> &all = levels[base];
    all.resize(size);
    std::iota(all.begin(), all.end(), 0);
  }

  bool empty() const { return levels.empty(); }

  /// Takes the lowest level, in rank order.
  std::pair<int64_t, std::vector<unsigned>> takeLowest() {
    auto lowest = levels.extract(levels.begin());
    std::sort(lowest.mapped().begin(), lowest.mapped().end());
    return {lowest.key(), std::move(lowest.mapped())};
  }

  void add(int64_t floor, unsigned index) { levels[floor].push_back(index); }

private:
  std::map<int64_t, std::vector<unsigned>> levels;
};

/// Gives the peak; stops early, with a peak of the best or more, where it
/// cannot become better than `best`.
int64_t placeAll(const std::vector<PackedBuffer> &buffers,
                 const Conflicts &conflicts, const std::vector<unsigned> &order,
                 int64_t alignment, int64_t base, int64_t best,
                 std::vector<int64_t> &offsets) {
  std::vector<int64_t> floor(buffers.size(), base);
  std::vector<uint64_t> left((buffers.size() + 63) / 64, ~uint64_t(0));
  int64_t peak = base;
  for (Levels levels(base, order.size()); !levels.empty();) {
    auto [lowest, indices] = levels.takeLowest();
    for (unsigned index : indices) {
      unsigned buffer = order[index];
      if (floor[buffer] != lowest) {
        levels.add(floor[buffer], index);
        continue;
      }
      left[buffer / 64] &= ~(uint64_t(1) << buffer % 64);
      offsets[buffer] = lowest;
      int64_t end = lowest + buffers[buffer].bytes;
      peak = std::max(peak, end);
      if (peak >= best) {
        return peak;
      }
      end = alignUp(end, alignment);
      conflicts.forEach(buffer, left, [&](unsigned other) {
        floor[other] = std::max(floor[other], end);
      });
    }
  }
  return peak;
}

/// A buffer's uses in one program.
struct Life {
  unsigned buffer, begin; ///< the first step that uses it
  Extent extent;
};

/// By step: the extent of a buffer that all steps from there on would use.
std::vector<Extent> restOf(const VectorClocks &clocks) {
  std::vector<Extent> rest(clocks.size());
  for (unsigned step = clocks.size(); step-- > 0;) {
    rest[step] = extentOf({step}, clocks);
    if (step + 1 < clocks.size()) {
      for (unsigned s = 0; s < clocks.numStreams(); ++s) {
        rest[step].ready[s] =
            std::min(rest[step].ready[s], rest[step + 1].ready[s]);
      }
    }
  }
  return rest;
}

void findConflicts(std::vector<Life> lives, const VectorClocks &clocks,
                   Conflicts &conflicts) {
  std::stable_sort(
      lives.begin(), lives.end(),
      [](const Life &a, const Life &b) { return a.begin < b.begin; });
  std::vector<Extent> rest = restOf(clocks);
  // The buffers that a later one may still meet, and how far they reach, side
  // by side: a large model compares a hundred million times.
  std::vector<unsigned> open, reaches;
  unsigned streams = clocks.numStreams();
  for (const Life &life : lives) {
    size_t kept = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      const unsigned *reach = reaches.data() + i * streams;
      // Nothing is done before a step that was issued earlier begins, so that
      // `life` is not before any of them.
      if (!allBefore(reach, life.extent)) {
        conflicts.add(life.buffer, open[i]);
      } else if (allBefore(reach, rest[life.begin])) {
        continue;
      }
      open[kept] = open[i];
      std::copy_n(reach, streams, reaches.data() + kept++ * streams);
    }
    open.resize(kept);
    open.push_back(life.buffer);
    reaches.resize(kept * streams);
    reaches.insert(reaches.end(), life.extent.reach.begin(),
                   life.extent.reach.end());
  }
}

} // namespace

Conflicts mlir::zg::findConflicts(const std::vector<PackedBuffer> &buffers,
                                  const std::vector<VectorClocks> &clocks) {
  std::vector<std::vector<Life>> programs(clocks.size());
  for (unsigned i = 0; i < buffers.size(); ++i) {
    assert(!buffers[i].uses.empty() && "a buffer that nothing touches");
    for (const auto &[program, uses] : buffers[i].uses) {
      programs[program].push_back(
          {i, uses.front(), extentOf(uses, clocks[program])});
    }
  }
  Conflicts conflicts(buffers.size());
  for (unsigned program = 0; program < programs.size(); ++program) {
    ::findConflicts(std::move(programs[program]), clocks[program], conflicts);
  }
  return conflicts;
}

Packing mlir::zg::pack(const std::vector<PackedBuffer> &buffers,
                       const Conflicts &conflicts, int64_t alignment,
                       int64_t base) {
  base = alignUp(base, alignment);
  unsigned programs = 0;
  for (const PackedBuffer &buffer : buffers) {
    programs = std::max(programs, buffer.uses.rbegin()->first + 1);
  }
  Packing result;
  result.lowerBound = base;
  std::vector<std::vector<int64_t>> live;
  for (unsigned program = 0; program < programs; ++program) {
    live.push_back(liveBytes(buffers, program, alignment));
    for (int64_t bytes : live.back()) {
      result.lowerBound = std::max(result.lowerBound, base + bytes);
    }
  }
  std::vector<Features> features;
  for (const PackedBuffer &buffer : buffers) {
    int64_t most = 0, width = 0;
    for (const auto &[program, uses] : buffer.uses) {
      auto begin = live[program].begin();
      most = std::max(most, *std::max_element(begin + uses.front(),
                                              begin + uses.back() + 1));
      width += uses.back() - uses.front() + 1;
    }
    features.push_back({most, width, width * buffer.bytes, buffer.bytes});
  }

  result.peak = std::numeric_limits<int64_t>::max();
  std::vector<unsigned> order(buffers.size());
  std::vector<int64_t> offsets(buffers.size(), base);
  for (unsigned rank = 0; rank < kOrders; ++rank) {
    std::iota(order.begin(), order.end(), 0);
    // The largest first; the index makes it deterministic.
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return rankOf(features[a], rank) > rankOf(features[b], rank);
    });
    int64_t peak = placeAll(buffers, conflicts, order, alignment, base,
                            result.peak, offsets);
    if (peak < result.peak) {
      result.peak = peak;
      result.offsets = offsets;
      result.order = rank;
    }
    if (alignUp(result.peak, alignment) <= result.lowerBound) {
      break;
    }
  }
  return result;
}
