//===- PackingTest.cpp - packings are sound and small ---------------------===//

#include "passes/analysis/Packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace mlir::zg {
namespace {

/// A schedule with random awaits, and buffers that random steps use.
struct Schedule {
  VectorClocks clocks;
  std::vector<std::vector<unsigned>> predecessors;
  std::vector<PackedBuffer> buffers;

  Schedule(unsigned streams, unsigned steps, unsigned count, unsigned seed)
      : clocks(streams), predecessors(steps) {
    std::mt19937 random(seed);
    auto below = [&](unsigned n) { return unsigned(random() % n); };
    std::vector<int> last(streams, -1);
    int lastCollective = -1;
    for (unsigned step = 0; step < steps; ++step) {
      unsigned stream = below(streams);
      bool collective = stream > 0 && below(4) == 0;
      clocks.add(stream, collective);
      auto follow = [&](int earlier) {
        if (earlier >= 0) {
          predecessors[step].push_back(earlier);
        }
      };
      follow(last[stream]);
      last[stream] = step;
      if (collective) {
        follow(lastCollective);
        lastCollective = step;
      }
      if (step > 0 && below(3) == 0) {
        unsigned earlier = step - 1 - below(std::min(step, 6u));
        clocks.await(earlier);
        follow(earlier);
      }
    }
    for (unsigned i = 0; i < count; ++i) {
      PackedBuffer buffer;
      buffer.bytes = 1 + below(4000);
      unsigned first = below(steps), length = 1 + below(8);
      for (unsigned s = first; s < std::min(steps, first + length); ++s) {
        if (s == first || below(2) == 0) {
          buffer.uses[0].push_back(s);
        }
      }
      buffers.push_back(buffer);
    }
  }

  /// Runs the steps in a random order that the predecessors allow; gives each
  /// step's place in it.
  std::vector<unsigned> interleave(std::mt19937 &random) const {
    std::vector<unsigned> place(predecessors.size()), ready, missing;
    std::vector<std::vector<unsigned>> successors(predecessors.size());
    for (unsigned step = 0; step < predecessors.size(); ++step) {
      missing.push_back(predecessors[step].size());
      for (unsigned earlier : predecessors[step]) {
        successors[earlier].push_back(step);
      }
      if (missing.back() == 0) {
        ready.push_back(step);
      }
    }
    for (unsigned time = 0; time < place.size(); ++time) {
      std::swap(ready[random() % ready.size()], ready.back());
      unsigned step = ready.back();
      ready.pop_back();
      place[step] = time;
      for (unsigned next : successors[step]) {
        if (--missing[next] == 0) {
          ready.push_back(next);
        }
      }
    }
    return place;
  }
};

bool shareBytes(const Packing &packing, const std::vector<PackedBuffer> &all,
                unsigned i, unsigned j) {
  return packing.offsets[i] < packing.offsets[j] + all[j].bytes &&
         packing.offsets[j] < packing.offsets[i] + all[i].bytes;
}

// Whatever order the streams run in, buffers that share bytes are never in use
// at the same time.
TEST(Packing, NoInterleavingClashes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Schedule schedule(4, 40, 30, seed);
    Packing packing =
        pack(schedule.buffers,
             findConflicts(schedule.buffers, {schedule.clocks}), 64, 128);
    std::mt19937 random(seed);
    for (unsigned run = 0; run < 20; ++run) {
      std::vector<unsigned> place = schedule.interleave(random);
      std::vector<std::pair<unsigned, unsigned>> life;
      for (const PackedBuffer &buffer : schedule.buffers) {
        unsigned first = ~0u, last = 0;
        for (unsigned step : buffer.uses.at(0)) {
          first = std::min(first, place[step]);
          last = std::max(last, place[step]);
        }
        life.push_back({first, last});
      }
      for (unsigned i = 0; i < life.size(); ++i) {
        for (unsigned j = 0; j < i; ++j) {
          bool together = life[i].first <= life[j].second &&
                          life[j].first <= life[i].second;
          ASSERT_FALSE(together && shareBytes(packing, schedule.buffers, i, j))
              << "seed " << seed << " buffers " << i << " and " << j;
        }
      }
    }
  }
}

// Clocks say "before" exactly where a chain of predecessors does.
TEST(VectorClocks, AreReachability) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Schedule schedule(5, 60, 0, seed);
    unsigned steps = schedule.predecessors.size();
    std::vector<std::vector<char>> reach(steps, std::vector<char>(steps));
    for (unsigned b = 0; b < steps; ++b) {
      for (unsigned p : schedule.predecessors[b]) {
        reach[b][p] = 1;
        for (unsigned a = 0; a < p; ++a) {
          reach[b][a] |= reach[p][a];
        }
      }
      for (unsigned a = 0; a < b; ++a) {
        ASSERT_EQ(schedule.clocks.before(a, b), bool(reach[b][a]));
      }
    }
  }
}

// Offsets are aligned and above the base; the arena is at least the bound and,
// on one stream, where order is total, close to it.
TEST(Packing, MeetsItsBounds) {
  double worst = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Schedule schedule(1, 60, 60, seed);
    Packing packing =
        pack(schedule.buffers,
             findConflicts(schedule.buffers, {schedule.clocks}), 64, 100);
    for (int64_t offset : packing.offsets) {
      EXPECT_EQ(offset % 64, 0);
      EXPECT_GE(offset, 128);
    }
    int64_t arena = (packing.peak + 63) / 64 * 64;
    EXPECT_GE(arena, packing.lowerBound);
    worst = std::max(worst, double(arena) / packing.lowerBound);
  }
  EXPECT_LT(worst, 1.25);
}

// Programs do not run at the same time: their buffers share everything.
TEST(Packing, ProgramsShare) {
  Schedule schedule(1, 4, 0, 0);
  std::vector<PackedBuffer> buffers(2);
  for (unsigned i = 0; i < 2; ++i) {
    buffers[i].bytes = 1000;
    buffers[i].uses[i] = {0, 3};
  }
  Packing packing =
      pack(buffers, findConflicts(buffers, {schedule.clocks, schedule.clocks}),
           64, 0);
  EXPECT_EQ(packing.peak, 1000);
  EXPECT_EQ(packing.lowerBound, 1024);
}

TEST(Packing, NothingToPack) {
  Packing packing = pack({}, Conflicts(0), 64, 10);
  EXPECT_EQ(packing.lowerBound, 64);
  EXPECT_TRUE(packing.offsets.empty());
}

// 5,000 buffers take well under a second.
TEST(Packing, IsFast) {
  Schedule schedule(4, 6000, 5000, 1);
  auto begin = std::chrono::steady_clock::now();
  Packing packing =
      pack(schedule.buffers, findConflicts(schedule.buffers, {schedule.clocks}),
           64, 0);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(packing.offsets.size(), 5000u);
  // Ten times what it takes alone: the machine may be busy.
  EXPECT_LT(seconds.count(), 10);
  RecordProperty("seconds", std::to_string(seconds.count()));
}

} // namespace
} // namespace mlir::zg
