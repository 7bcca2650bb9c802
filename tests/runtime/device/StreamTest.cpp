//===- StreamTest.cpp - streams, workers, arenas, targets -----------------===//

#include "runtime/device/host/HostArena.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/TargetCheck.h"
#include "runtime/device/host/WorkerPool.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cstring>

using namespace zerograph;

namespace {

TEST(WorkerPoolTest, SharesCoverTheExtentOnceAtMultiplesOfTheGrain) {
  for (uint64_t extent : {0, 1, 5, 16, 63, 64, 65, 1000}) {
    for (uint64_t grain : {1, 4, 16, 64, 2000}) {
      for (unsigned workers : {1, 2, 3, 7}) {
        uint64_t end = 0;
        for (unsigned worker = 0; worker < workers; ++worker) {
          WorkRange share = shareOf(extent, grain, worker, workers);
          EXPECT_EQ(share.begin, end);
          EXPECT_TRUE(share.begin % grain == 0 || share.empty());
          end = share.end;
        }
        EXPECT_EQ(end, extent);
      }
    }
  }
}

TEST(WorkerPoolTest, EachRoundRunsOnEachWorkerOnce) {
  for (unsigned workers : {1u, 2u, 5u}) {
    WorkerPool pool(workers);
    std::vector<uint64_t> counts(workers);
    for (int round = 0; round < 2000; ++round) {
      pool.run([&](unsigned worker) { ++counts[worker]; });
    }
    EXPECT_EQ(counts, std::vector<uint64_t>(workers, 2000));
  }
}

TEST(ArenaTest, TheHighestByteTouchedShows) {
  auto arena = makeHostArena((5 << 20) + 3, 64);
  ASSERT_TRUE(arena.ok()) << arena.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*arena)->data()) % (2 << 20), 0u);
  EXPECT_EQ((*arena)->touchedEnd(), 0u);
  std::byte *data = (*arena)->data();
  for (uint64_t at : {0, 1, 7, 4096, (5 << 20), (5 << 20) + 2}) {
    data[at] = std::byte(3);
    EXPECT_EQ((*arena)->touchedEnd(), at + 1);
  }
  EXPECT_FALSE(makeHostArena(64, 48).ok());
  EXPECT_TRUE(makeHostArena(0, 1).ok());
}

/// Streams in a ring, each entry waiting for another stream's: the order of
/// what happens is the one that the waits give, in every program run.
TEST(StreamTest, WaitsOrderStreams) {
  constexpr unsigned kStreams = 4;
  constexpr int kRounds = 50;
  auto device = makeHostDevice();
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<StreamProgram> programs(kStreams);
  std::vector<unsigned> events; // only waits keep it from being a race
  for (unsigned i = 0; i < kStreams; ++i) {
    streams.push_back(device->makeStream(i, "stream", 1));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kStreams; ++i) {
      std::vector<Timepoint> waits;
      if (i > 0) {
        waits = {{i - 1, uint32_t(round + 1)}};
      } else if (round > 0) {
        waits = {{kStreams - 1, uint32_t(round)}};
      }
      programs[i].push_back({streams[i]->call([&events, i] {
                               events.push_back(i);
                               return absl::OkStatus();
                             }),
                             waits, uint32_t(round)});
    }
  }
  for (int run = 0; run < 20; ++run) {
    events.clear();
    device->beginProgram();
    for (unsigned i = 0; i < kStreams; ++i) {
      streams[i]->start(programs[i], nullptr);
    }
    uint32_t step = 0;
    for (auto &stream : streams) {
      EXPECT_TRUE(stream->finish(step).ok());
    }
    ASSERT_EQ(events.size(), kStreams * kRounds);
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i], i % kStreams);
    }
  }
}

/// A failing entry ends the streams that wait for it; the next run is clean.
TEST(StreamTest, AFailureEndsEveryStream) {
  auto device = makeHostDevice();
  int told = 0;
  device->onFailure([&](const absl::Status &) { ++told; });
  auto one = device->makeStream(0, "one", 1);
  auto two = device->makeStream(1, "two", 2);
  bool fail = true;
  StreamProgram first, second;
  first.push_back({one->call([&] {
                     return fail ? absl::DataLossError("lost")
                                 : absl::OkStatus();
                   }),
                   {},
                   7});
  int ran = 0;
  second.push_back({two->call([&] {
                      ++ran;
                      return absl::OkStatus();
                    }),
                    {{0, 1}},
                    8});
  uint32_t step = 0;
  auto runBoth = [&] {
    device->beginProgram();
    two->start(second, nullptr);
    one->start(first, nullptr);
    absl::Status status = one->finish(step);
    absl::Status other = two->finish(step);
    return std::make_pair(status, other);
  };
  auto [status, other] = runBoth();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::IsCancelled(other));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(ran, 0);
  fail = false;
  EXPECT_TRUE(runBoth().first.ok());
  EXPECT_EQ(ran, 1);
}

TEST(StreamTest, CopiesAndFillsOfAnySizeAreWhole) {
  auto device = makeHostDevice();
  auto stream = device->makeStream(1, "compute", 3);
  for (uint64_t bytes : {1, 1000, 1 << 20, (3 << 20) + 17}) {
    std::vector<char> source(bytes, 'a'), destination(bytes + 1, 'b');
    StreamProgram program;
    auto copy = stream->copy(source.data(), destination.data(), bytes);
    auto fill = stream->fill(source.data(), bytes);
    program.push_back({*std::move(copy), {}, 0});
    program.push_back({*std::move(fill), {}, 1});
    device->beginProgram();
    stream->start(program, nullptr);
    uint32_t step = 0;
    ASSERT_TRUE(stream->finish(step).ok());
    EXPECT_EQ(destination, [&] {
      std::vector<char> expected(bytes + 1, 'a');
      expected.back() = 'b';
      return expected;
    }());
    EXPECT_EQ(source, std::vector<char>(bytes, 0));
  }
}

TEST(KernelModuleTest, WhatCannotBeLoadedIsSaid) {
  plan::Plan plan;
  EXPECT_TRUE(loadKernelModule(plan).ok()); // nothing to load
  plan.add_kernels()->set_symbol("k");
  EXPECT_FALSE(loadKernelModule(plan).ok());
  plan.set_kernel_module("not an object");
  auto module = loadKernelModule(plan);
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.status().message().find("cannot be loaded"),
            std::string::npos);
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
  EXPECT_TRUE(checkTarget(target).ok());
  target.set_device("cuda");
  target.set_math_isa("sse1");
  absl::Status status = checkTarget(target);
  EXPECT_NE(status.message().find("'cuda'"), std::string::npos);
  EXPECT_NE(status.message().find("sse1"), std::string::npos);
}

} // namespace
