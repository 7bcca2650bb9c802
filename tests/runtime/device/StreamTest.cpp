//===- StreamTest.cpp - streams, workers, arenas, targets -----------------===//

#include "HostRun.h"

#include "runtime/device/host/HostArena.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/LibraryCall.h"
#include "runtime/device/host/TargetCheck.h"
#include "runtime/device/host/WorkerPool.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

TEST(WorkerPoolTest, PartsCoverTheExtentOnceAtMultiplesOfTheGrain) {
  for (uint64_t extent : {0, 1, 5, 16, 63, 64, 65, 1000}) {
    for (uint64_t grain : {1, 4, 16, 64, 2000}) {
      for (uint32_t parts : {1, 2, 3, 7}) {
        uint64_t end = 0;
        for (uint32_t part = 0; part < parts; ++part) {
          WorkRange range = partOf(extent, grain, part, parts);
          EXPECT_EQ(range.begin, end);
          EXPECT_TRUE(range.begin % grain == 0 || range.empty());
          end = range.end;
        }
        EXPECT_EQ(end, extent);
      }
    }
  }
}

TEST(WorkerPoolTest, EachPartOfEachRunIsTakenOnce) {
  constexpr uint32_t kMost = 9;
  for (unsigned size : {1u, 2u, 5u}) {
    WorkerPool pool(size);
    for (uint32_t round = 0; round < 5000; ++round) {
      uint32_t parts = round % (kMost + 1);
      uint32_t taken[kMost] = {}; // on the stack: a part taken late would show
      pool.run(parts, [&](uint32_t part) { ++taken[part]; });
      for (uint32_t part = 0; part < kMost; ++part) {
        ASSERT_EQ(taken[part], part < parts) << "run " << round;
      }
    }
  }
}

/// A thread that holds on to a part holds up no other part.
TEST(WorkerPoolTest, PartsAreTakenByWhoIsFree) {
  constexpr uint32_t kParts = 8;
  WorkerPool pool(2);
  std::atomic<uint32_t> others{0};
  pool.run(kParts, [&](uint32_t part) {
    if (part != 0) {
      ++others;
      others.notify_all();
      return;
    }
    for (uint32_t now; (now = others.load()) < kParts - 1;) {
      others.wait(now);
    }
  });
  EXPECT_EQ(others, kParts - 1);
}

/// Threads that went to sleep wake for the next run.
TEST(WorkerPoolTest, ThreadsWakeAfterAPause) {
  WorkerPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<uint32_t> met{0};
  pool.run(2, [&](uint32_t) { // each waits for the other: two threads it takes
    ++met;
    met.notify_all();
    for (uint32_t now; (now = met.load()) < 2;) {
      met.wait(now);
    }
  });
  EXPECT_EQ(met, 2u);
}

/// Threads that do not take part leave all to the others, and come back.
TEST(WorkerPoolTest, FewerThreadsDoTheSame) {
  WorkerPool pool(3);
  for (unsigned count : {3u, 1u, 2u, 1u, 3u, 2u}) {
    pool.use(count);
    for (int round = 0; round < 200; ++round) {
      std::atomic<uint32_t> taken[7] = {};
      pool.run(7, [&](uint32_t part) { ++taken[part]; });
      for (const std::atomic<uint32_t> &part : taken) {
        ASSERT_EQ(part, 1u) << count << " threads, run " << round;
      }
    }
  }
  pool.use(1); // a pool ends whose threads are asleep
}

TEST(ArenaTest, TheHighestByteTouchedShows) {
  auto arena = makeHostArena((5 << 20) + 3, 64).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % (2 << 20), 0u);
  EXPECT_EQ(arena->touchedEnd(1).value(), 0u);
  std::byte *data = arena->data();
  for (uint64_t at : {0, 1, 7, 4096, (5 << 20), (5 << 20) + 2}) {
    data[at] = std::byte(3);
    EXPECT_EQ(arena->touchedEnd(1).value(), at + 1);
  }
  EXPECT_FALSE(makeHostArena(64, 48).ok());
  EXPECT_TRUE(makeHostArena(0, 1).ok());
}

/// The highest byte of these is that of the pattern that memory begins with.
TEST(ArenaTest, FloatsThatAreNotFiniteShow) {
  for (float value : {std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::infinity(), 1.8e38f}) {
    auto arena = makeHostArena(64, 64).value();
    ASSERT_TRUE(arena->write(8, &value, sizeof value).ok());
    EXPECT_EQ(arena->touchedEnd(4).value(), 12u) << value;
  }
}

/// Streams in a ring, each step waiting for another stream's: the order of
/// what happens is the one that the waits give, in every run of the program.
TEST(HostDeviceTest, WaitsOrderStreams) {
  constexpr unsigned kStreams = 4;
  constexpr int kRounds = 50;
  HostRun host(kStreams);
  std::vector<unsigned> events; // only waits keep it from being a race
  for (int round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kStreams; ++i) {
      std::vector<uint32_t> waits;
      if (round + i > 0) {
        waits = {uint32_t(round * kStreams + i - 1)};
      }
      host.call(
          i,
          [&events, i] {
            events.push_back(i);
            return absl::OkStatus();
          },
          waits);
    }
  }
  ASSERT_TRUE(host.bind().ok());
  for (int run = 0; run < 20; ++run) {
    events.clear();
    ASSERT_TRUE(host.run().ok());
    ASSERT_EQ(events.size(), kStreams * kRounds);
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i], i % kStreams);
    }
  }
}

/// A failing step ends the streams that wait for it; the next run is clean.
TEST(HostDeviceTest, AFailureEndsEveryStream) {
  HostRun host(2);
  int told = 0, ran = 0;
  host.device->onFailure([&](const absl::Status &, uint32_t) { ++told; });
  bool fail = true;
  host.call(
      0, [&] { return fail ? absl::DataLossError("lost") : absl::OkStatus(); });
  host.call(1,
            [&] {
              ++ran;
              return absl::OkStatus();
            },
            {0});
  ASSERT_TRUE(host.bind().ok());
  EXPECT_TRUE(absl::IsDataLoss(host.run()));
  EXPECT_EQ(host.failed, 0u);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(ran, 0);
  fail = false;
  EXPECT_TRUE(host.run().ok());
  EXPECT_EQ(ran, 1);
}

/// A cancelled run ends, also where it waits; nobody is told.
TEST(HostDeviceTest, ACancelledRunEnds) {
  HostRun host(2);
  int told = 0;
  host.device->onFailure([&](const absl::Status &, uint32_t) { ++told; });
  uint32_t counter[16] = {};
  host.program.counters = host.range(counter, sizeof(counter));
  host.call(0, [] { return absl::OkStatus(); }).awaits = {{0, 1}};
  host.call(1, [] { return absl::OkStatus(); }, {0});
  ASSERT_TRUE(host.bind().ok());
  host.bound->prepare();
  host.bound->start(0);
  std::thread other([&] { host.bound->cancel(); });
  EXPECT_TRUE(absl::IsCancelled(host.bound->finish(host.failed)));
  other.join();
  EXPECT_EQ(told, 0);
}

/// Two devices take turns by counters in memory that both see.
TEST(HostDeviceTest, DevicesAwaitEachOthersCounts) {
  constexpr uint32_t kRounds = 100;
  HostRun one(1), two(1);
  uint32_t counters[32] = {};
  std::vector<int> events; // only counts keep it from being a race
  one.program.counters = one.range(counters, sizeof(counters));
  two.program.counters = two.range(counters, sizeof(counters));
  for (uint32_t round = 1; round <= kRounds; ++round) {
    StepBinding &first = one.call(0, [&] {
      events.push_back(1);
      return absl::OkStatus();
    });
    first.awaits = {{1, round - 1}};
    first.publishes = {0, round};
    StepBinding &second = two.call(0, [&] {
      events.push_back(2);
      return absl::OkStatus();
    });
    second.awaits = {{0, round}};
    second.publishes = {1, round};
  }
  ASSERT_TRUE(one.bind().ok());
  ASSERT_TRUE(two.bind().ok());
  for (int run = 0; run < 3; ++run) {
    events.clear();
    std::fill(std::begin(counters), std::end(counters), 0);
    two.bound->prepare();
    two.bound->start(0);
    one.bound->prepare();
    one.bound->start(0);
    ASSERT_TRUE(one.bound->finish(one.failed).ok());
    ASSERT_TRUE(two.bound->finish(two.failed).ok());
    ASSERT_EQ(events.size(), 2 * kRounds);
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i], i % 2 ? 2 : 1);
    }
  }
}

TEST(HostDeviceTest, CopiesAndFillsOfAnySizeAreWhole) {
  plan::Step copy, fill;
  copy.mutable_copy();
  fill.mutable_fill();
  for (uint64_t bytes : {1, 1000, 1 << 20, (3 << 20) + 17}) {
    std::vector<char> source(bytes, 'a'), destination(bytes + 1, 'b');
    HostRun host(1, 3);
    DeviceRange from = host.range(source.data(), bytes);
    host.add(0, {}, copy).ranges = {from,
                                    host.range(destination.data(), bytes)};
    host.add(0, {}, fill).ranges = {from};
    ASSERT_TRUE(host.bind().ok());
    ASSERT_TRUE(host.run().ok());
    EXPECT_EQ(destination, [&] {
      std::vector<char> expected(bytes + 1, 'a');
      expected.back() = 'b';
      return expected;
    }());
    EXPECT_EQ(source, std::vector<char>(bytes, 0));
  }
}

TEST(HostDeviceTest, WhatItCannotDoNamesTheStep) {
  plan::Step gather;
  gather.set_name("gather h.0");
  gather.mutable_all_gather();
  HostRun host(1);
  host.add(0, {}, gather);
  absl::Status status = host.bind();
  expectSays(status, "step 0 'gather h.0': the host does not");
  expectSays(host.device->allocate(plan::NVME, 64, 64).status(),
             "give --nvme-path");
}

TEST(HostBufferTest, RangesEndWhereTheirBufferDoes) {
  std::vector<char> memory(100, 'a');
  HostBuffer buffer(memory.data(), memory.size());
  DeviceRange part = DeviceRange{&buffer, 0, 100}.part(40, 20);
  EXPECT_TRUE(part.fill().ok());
  EXPECT_TRUE(part.part(0, 2).write("xy").ok());
  char read[3] = {};
  EXPECT_TRUE(part.part(1, 2).read(read).ok());
  EXPECT_EQ(read, std::string("y"));
  EXPECT_EQ(memory[39], 'a');
  EXPECT_EQ(memory[60], 'a');
  EXPECT_EQ(*hostAddress(part), reinterpret_cast<std::byte *>(&memory[40]));
  for (DeviceRange outside : {part.part(50, 20), part.part(200, 0)}) {
    EXPECT_TRUE(absl::IsOutOfRange(outside.fill()));
    EXPECT_TRUE(absl::IsOutOfRange(outside.read(read)));
    EXPECT_TRUE(absl::IsOutOfRange(outside.write(read)));
    EXPECT_FALSE(hostAddress(outside).ok());
  }
}

/// Blocks come in order and are all of a range.
TEST(HostBufferTest, BlocksAreWholeAndInOrder) {
  std::vector<char> memory(2 * kBlockBytes + 7);
  HostBuffer buffer(memory.data(), memory.size());
  DeviceRange all = {&buffer, 0, memory.size()};
  ASSERT_TRUE(writeBlocks(all, [](uint64_t at, std::byte *to, uint64_t size) {
                for (uint64_t i = 0; i < size; ++i) {
                  to[i] = std::byte((at + i) % 251);
                }
                return absl::OkStatus();
              }).ok());
  uint64_t next = 0;
  ASSERT_TRUE(
      readBlocks(all, [&](uint64_t at, const std::byte *from, uint64_t size) {
        EXPECT_EQ(at, next);
        next += size;
        for (uint64_t i = 0; i < size; ++i) {
          EXPECT_EQ(from[i], std::byte((at + i) % 251));
        }
        return absl::OkStatus();
      }).ok());
  EXPECT_EQ(next, memory.size());
}

TEST(KernelModuleTest, WhatCannotBeLoadedIsSaid) {
  plan::Plan plan;
  EXPECT_TRUE(loadKernelModule(plan).ok()); // nothing to load
  plan.add_kernels()->set_symbol("k");
  plan.add_modules()->set_elf("not an object");
  auto module = loadKernelModule(plan);
  expectSays(module.status(), "cannot be loaded");
}

TEST(TargetTest, FeaturesAreFoundByEitherName) {
  plan::Target target;
  target.set_device("host");
  for (const char *feature :
       {"+avx512vnni", "sse4.2", "bmi", "avx2", "evex512", "amx-int8"}) {
    target.add_features(feature);
  }
  EXPECT_EQ(
      missingFeatures(target, {"avx512_vnni", "sse4_2", "bmi1", "avx512f"}),
      (std::vector<std::string>{"avx2", "amx-int8"}));
  target.clear_features();
  target.set_cut_version(kCutVersion);
  EXPECT_TRUE(checkTarget(target).ok());
  target.set_cut_version(kCutVersion + 1);
  expectSays(checkTarget(target),
             absl::StrCat("cut by version ", kCutVersion + 1, " of the rule"));
  target.set_device("cuda");
  target.set_math_isa("sse1");
  expectSays(checkTarget(target), "'cuda'", "sse1");
}

} // namespace
