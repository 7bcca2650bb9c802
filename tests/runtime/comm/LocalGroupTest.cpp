//===- LocalGroupTest.cpp - collectives of threads ------------------------===//

#include "tests/runtime/comm/OnRanks.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

/// `ranks` arrays of values with wildly different magnitudes: another order of
/// additions gives other bits.
template <typename Element>
std::vector<std::vector<Element>> contributionsOf(unsigned ranks,
                                                  uint64_t elements) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(-10, 10);
  std::vector<std::vector<Element>> all(ranks);
  for (auto &values : all) {
    for (uint64_t i = 0; i < elements; ++i) {
      values.push_back(
          Element(std::exp2(exponent(random)) * (random() % 2 ? 1 : -1)));
    }
  }
  return all;
}

template <typename Element>
void checkReduceScatter(plan::ElementType type, unsigned world,
                        uint64_t shard_elements, uint64_t chunk_elements,
                        bool accumulate) {
  auto whole = contributionsOf<Element>(world, world * shard_elements);
  std::vector<std::vector<Element>> shards(
      world, std::vector<Element>(shard_elements, Element(0.3)));
  std::vector<TrafficCount> traffic(world);
  LocalGroupOptions options;
  options.world = world;
  auto statuses = onRanks(options, [&](Communicator &comm) {
    unsigned rank = comm.rank();
    std::vector<Element> staging(world * chunk_elements);
    ReduceScatterCall call;
    call.type = type;
    call.whole = reinterpret_cast<std::byte *>(whole[rank].data());
    call.shard = reinterpret_cast<std::byte *>(shards[rank].data());
    call.staging = reinterpret_cast<std::byte *>(staging.data());
    call.shard_bytes = shard_elements * sizeof(Element);
    call.chunk_bytes = chunk_elements * sizeof(Element);
    call.accumulate = accumulate;
    comm.beginProgram();
    absl::Status status = comm.reduceScatter(siteOf(0), call);
    traffic[rank] = comm.traffic();
    return status;
  });
  for (unsigned rank = 0; rank < world; ++rank) {
    ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
    EXPECT_EQ(traffic[rank].reduce,
              (world - 1) * shard_elements * sizeof(Element));
    for (uint64_t i = 0; i < shard_elements; ++i) {
      Element sum = accumulate ? Element(0.3) : Element(0);
      for (unsigned peer = 0; peer < world; ++peer) {
        sum = sum + whole[peer][rank * shard_elements + i];
      }
      ASSERT_EQ(std::memcmp(&sum, &shards[rank][i], sizeof(sum)), 0)
          << "rank " << rank << " element " << i;
    }
  }
}

TEST(LocalGroupTest, AReductionIsTheFoldInRankOrderToTheBit) {
  for (unsigned world : {1u, 2u, 3u, 4u}) {
    for (uint64_t elements : {256u, 1280u, 5000u}) {
      for (uint64_t chunk : {64u, 1000u, 8192u}) {
        for (bool accumulate : {false, true}) {
          checkReduceScatter<float>(plan::F32, world, elements, chunk,
                                    accumulate);
          checkReduceScatter<double>(plan::F64, world, elements, chunk,
                                     accumulate);
        }
      }
    }
  }
}

/// The shard may be the rank's own part of its gradients.
TEST(LocalGroupTest, AReductionInPlaceIsTheSame) {
  constexpr unsigned kWorld = 3;
  constexpr uint64_t kShard = 700;
  auto whole = contributionsOf<float>(kWorld, kWorld * kShard);
  auto before = whole;
  LocalGroupOptions options;
  options.world = kWorld;
  auto statuses = onRanks(options, [&](Communicator &comm) {
    std::vector<float> staging(kWorld * 64);
    ReduceScatterCall call;
    auto *data = reinterpret_cast<std::byte *>(whole[comm.rank()].data());
    call.whole = data;
    call.shard = data + comm.rank() * kShard * 4;
    call.staging = reinterpret_cast<std::byte *>(staging.data());
    call.shard_bytes = kShard * 4;
    call.chunk_bytes = 64 * 4;
    comm.beginProgram();
    return comm.reduceScatter(siteOf(0), call);
  });
  for (unsigned rank = 0; rank < kWorld; ++rank) {
    ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
    for (uint64_t i = rank * kShard; i < (rank + 1) * kShard; ++i) {
      ASSERT_EQ(whole[rank][i],
                ((0.0f + before[0][i]) + before[1][i]) + before[2][i]);
    }
  }
}

TEST(LocalGroupTest, AGatherGivesEveryRankEveryShard) {
  for (unsigned world : {1u, 2u, 4u}) {
    for (bool in_place : {false, true}) {
      LocalGroupOptions options;
      options.world = world;
      auto statuses = onRanks(options, [&](Communicator &comm) {
        unsigned rank = comm.rank();
        std::vector<int> one(world * 100, -1), two(world * 7, -1);
        std::vector<int> shard(100, int(rank)), other(7, int(rank) + 10);
        std::copy(other.begin(), other.end(), two.begin() + rank * 7);
        if (in_place) {
          std::copy(shard.begin(), shard.end(), one.begin() + rank * 100);
        }
        auto bytes = [](int *p) { return reinterpret_cast<std::byte *>(p); };
        std::vector<GatherSegment> segments = {
            {in_place ? bytes(one.data() + rank * 100) : bytes(shard.data()),
             bytes(one.data()), 400},
            {bytes(two.data() + rank * 7), bytes(two.data()), 28}};
        comm.beginProgram();
        ZG_RETURN_IF_ERROR(comm.allGather(siteOf(0), segments));
        for (unsigned i = 0; i < world * 100; ++i) {
          EXPECT_EQ(one[i], int(i / 100));
        }
        for (unsigned i = 0; i < world * 7; ++i) {
          EXPECT_EQ(two[i], int(i / 7) + 10);
        }
        EXPECT_EQ(comm.traffic().gather, (world - 1) * 428u);
        return absl::OkStatus();
      });
      for (const absl::Status &status : statuses) {
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }
}

TEST(LocalGroupTest, ASumAddsToWhatIsThere) {
  LocalGroupOptions options;
  options.world = 3;
  std::vector<TrafficCount> traffic(3);
  auto statuses = onRanks(options, [&](Communicator &comm) {
    float value = float(comm.rank() + 1), sum = 0;
    float flags[2] = {0, comm.rank() == 1 ? 1.0f : 0.0f}, counts[2] = {0, 0};
    auto bytes = [](float *p) { return reinterpret_cast<std::byte *>(p); };
    std::vector<ReduceArray> arrays = {{bytes(&value), bytes(&sum), 4},
                                       {bytes(flags), bytes(counts), 8}};
    for (int i = 0; i < 3; ++i) {
      comm.beginProgram();
      ZG_RETURN_IF_ERROR(comm.allReduce(siteOf(0), plan::F32, arrays));
    }
    EXPECT_EQ(sum, 18);
    EXPECT_EQ(counts[0], 0);
    EXPECT_EQ(counts[1], 3);
    traffic[comm.rank()] = comm.traffic();
    return absl::OkStatus();
  });
  for (unsigned rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank];
    EXPECT_EQ(traffic[rank].scalar, 3u * 2 * 12);
  }
}

/// Two streams a rank come to their collectives in another order on every
/// rank; what runs is the plan's order.
TEST(LocalGroupTest, CollectivesKeepThePlansOrderWhateverTheStream) {
  constexpr unsigned kWorld = 3;
  constexpr uint32_t kCalls = 40;
  LocalGroupOptions options;
  options.world = kWorld;
  std::vector<std::vector<uint32_t>> entered(kWorld);
  options.on_enter = [&](unsigned rank, const CollectiveSite &site) {
    entered[rank].push_back(site.sequence);
    if ((site.sequence + rank) % 7 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  auto statuses = onRanks(options, [&](Communicator &comm) {
    comm.beginProgram();
    std::vector<int> wholes(kCalls * kWorld);
    auto stream = [&](uint32_t parity) {
      for (uint32_t i = parity; i < kCalls; i += 2) {
        if ((i + comm.rank()) % 5 == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        int value = int(i * 10 + comm.rank());
        GatherSegment segment = {
            reinterpret_cast<std::byte *>(&value),
            reinterpret_cast<std::byte *>(&wholes[i * kWorld]), 4};
        ZG_RETURN_IF_ERROR(comm.allGather(siteOf(i), {&segment, 1}));
      }
      return absl::OkStatus();
    };
    absl::Status odd;
    std::thread other([&] { odd = stream(1); });
    absl::Status even = stream(0);
    other.join();
    for (uint32_t i = 0; i < kCalls * kWorld; ++i) {
      EXPECT_EQ(wholes[i], int(i / kWorld * 10 + i % kWorld));
    }
    even.Update(odd);
    return even;
  });
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < kCalls; ++i) {
    expected.push_back(i);
  }
  for (unsigned rank = 0; rank < kWorld; ++rank) {
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank];
    EXPECT_EQ(entered[rank], expected);
  }
}

/// Past the deadline the error says who waits where for whom, on every rank.
TEST(LocalGroupTest, TheDeadlineNamesWhoIsMissing) {
  LocalGroupOptions options;
  options.world = 4;
  options.deadline = std::chrono::milliseconds(200);
  std::atomic<bool> over{false};
  auto statuses = onRanks(options, [&](Communicator &comm) {
    comm.beginProgram();
    if (comm.rank() % 2 == 1) { // busy elsewhere
      while (!over) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    float value = 1, sum = 0;
    ReduceArray array = {reinterpret_cast<std::byte *>(&value),
                         reinterpret_cast<std::byte *>(&sum), 4};
    absl::Status status =
        comm.allReduce(siteOf(0, "loss"), plan::F32, {&array, 1});
    comm.abort(status);
    over = true;
    return status;
  });
  absl::Status original;
  for (const absl::Status &status : statuses) {
    ASSERT_FALSE(status.ok());
    if (absl::IsDeadlineExceeded(status)) {
      original = status;
    }
  }
  std::string message(original.message());
  for (const char *part : {"all_reduce loss", "program \"step\"",
                           "loss/gradients", "for rank 1, rank 3"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_NE(statuses[1].message().find(message.substr(message.find("all_red"))),
            std::string::npos)
      << statuses[1];
}

TEST(LocalGroupTest, ARankThatFailsEndsAllWithItsError) {
  LocalGroupOptions options;
  options.world = 3;
  auto statuses = onRanks(options, [&](Communicator &comm) {
    if (comm.rank() == 1) {
      return absl::DataLossError("a bad sample");
    }
    return comm.barrier("weights");
  });
  EXPECT_TRUE(absl::IsDataLoss(statuses[1]));
  for (unsigned rank : {0, 2}) {
    EXPECT_EQ(statuses[rank],
              absl::AbortedError("rank 1 failed: a bad sample"));
  }
}

/// A stream that waits for its turn is woken by a failure of its own rank.
TEST(LocalGroupTest, AFailureWakesWhoWaitsForItsTurn) {
  LocalGroupOptions options;
  options.world = 1;
  auto group = makeLocalGroup(options);
  group[0]->beginProgram();
  absl::Status status;
  std::thread stream([&] { status = group[0]->allGather(siteOf(3), {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  group[0]->abort(absl::DataLossError("elsewhere"));
  stream.join();
  EXPECT_NE(status.message().find("elsewhere"), std::string::npos) << status;
}

TEST(LocalGroupTest, WaitingForARankThatHasEndedIsAnError) {
  LocalGroupOptions options;
  options.world = 2;
  auto group = makeLocalGroup(options);
  absl::Status status;
  std::thread waiting([&] { status = group[0]->barrier("the end"); });
  group[1].reset();
  waiting.join();
  EXPECT_NE(status.message().find("rank 1 has ended"), std::string::npos)
      << status;
}

/// Calls `collective` on two ranks. Rank 0 gives up waiting, returns and
/// reuses the memory that its call was described in, by `spoil`; only then
/// rank 1 reads what rank 0 contributes.
template <typename Collective, typename Spoil>
void returnWhileAPeerReads(const Collective &collective, const Spoil &spoil) {
  LocalGroupOptions options;
  options.world = 2;
  options.deadline = std::chrono::milliseconds(1000);
  std::atomic<bool> returned{false};
  options.on_met = [&](unsigned rank) {
    while (rank == 1 && !returned) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  auto statuses = onRanks(options, [&](Communicator &comm) {
    comm.beginProgram();
    absl::Status status = collective(comm);
    if (comm.rank() == 0) {
      spoil();
      returned = true;
    }
    return status;
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(statuses[0])) << statuses[0];
  EXPECT_NE(statuses[0].message().find("for rank 1"), std::string::npos);
  EXPECT_EQ(statuses[1].message(),
            absl::StrCat("rank 0 failed: ", statuses[0].message()));
}

std::byte *bytesOf(float *values) {
  return reinterpret_cast<std::byte *>(values);
}

TEST(LocalGroupTest, APeerGathersFromARankThatHasGivenUp) {
  float shards[2] = {10, 11}, wholes[2][2] = {};
  std::vector<GatherSegment> segments[2];
  for (unsigned rank = 0; rank < 2; ++rank) {
    segments[rank] = {{bytesOf(&shards[rank]), bytesOf(wholes[rank]), 4}};
  }
  returnWhileAPeerReads(
      [&](Communicator &comm) {
        return comm.allGather(siteOf(0), segments[comm.rank()]);
      },
      [&] { segments[0] = {GatherSegment{}}; });
  EXPECT_EQ(wholes[1][0], 10);
  EXPECT_EQ(wholes[1][1], 11);
}

TEST(LocalGroupTest, APeerReducesFromARankThatHasGivenUp) {
  float wholes[2][2] = {{1, 2}, {3, 4}}, shards[2] = {}, staging[2][2];
  ReduceScatterCall calls[2];
  for (unsigned rank = 0; rank < 2; ++rank) {
    calls[rank] = {plan::F32,
                   bytesOf(wholes[rank]),
                   bytesOf(&shards[rank]),
                   bytesOf(staging[rank]),
                   4,
                   4,
                   false};
  }
  returnWhileAPeerReads(
      [&](Communicator &comm) {
        return comm.reduceScatter(siteOf(0), calls[comm.rank()]);
      },
      [&] { calls[0] = {}; });
  EXPECT_EQ(shards[1], 6);
}

TEST(LocalGroupTest, APeerSumsFromARankThatHasGivenUp) {
  float values[2] = {5, 6}, sums[2] = {};
  std::vector<ReduceArray> arrays[2];
  for (unsigned rank = 0; rank < 2; ++rank) {
    arrays[rank] = {{bytesOf(&values[rank]), bytesOf(&sums[rank]), 4}};
  }
  returnWhileAPeerReads(
      [&](Communicator &comm) {
        return comm.allReduce(siteOf(0), plan::F32, arrays[comm.rank()]);
      },
      [&] { arrays[0] = {ReduceArray{}}; });
  EXPECT_EQ(sums[1], 11);
}

TEST(LocalGroupTest, APeerReadsTheTextOfARankThatHasGivenUp) {
  std::string texts[2] = {std::string(100, 'a'), std::string(100, 'b')};
  returnWhileAPeerReads(
      [&](Communicator &comm) {
        return comm.exchange("texts", texts[comm.rank()]).status();
      },
      [&] { std::string().swap(texts[0]); });
}

/// Computing is no waiting: a stream may wait for its turn, behind one that
/// computes, for longer than the deadline.
TEST(LocalGroupTest, AStreamsTurnHasNoDeadline) {
  LocalGroupOptions options;
  options.world = 1;
  options.deadline = std::chrono::milliseconds(20);
  auto group = makeLocalGroup(options);
  group[0]->beginProgram();
  absl::Status prefetch;
  std::thread stream([&] { prefetch = group[0]->allGather(siteOf(1), {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  absl::Status reduction = group[0]->allReduce(siteOf(0), plan::F32, {});
  stream.join();
  EXPECT_TRUE(reduction.ok()) << reduction;
  EXPECT_TRUE(prefetch.ok()) << prefetch;
}

/// A peer that never comes is named within the deadline, to the streams that
/// wait for their turn too.
TEST(LocalGroupTest, APeerThatNeverComesEndsWhoWaitsForItsTurn) {
  LocalGroupOptions options;
  options.world = 2;
  options.deadline = std::chrono::milliseconds(200);
  auto group = makeLocalGroup(options);
  group[0]->beginProgram();
  absl::Status prefetch;
  std::thread stream([&] { prefetch = group[0]->allGather(siteOf(1), {}); });
  absl::Status reduction =
      group[0]->allReduce(siteOf(0, "loss"), plan::F32, {});
  group[0]->abort(reduction);
  stream.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(reduction)) << reduction;
  for (const absl::Status &status : {reduction, prefetch}) {
    for (const char *part : {"all_reduce loss", "for rank 1"}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status;
    }
  }
}

/// Any deadline is taken: none overflows the clock.
TEST(LocalGroupTest, ADeadlineBeyondAllClocksIsALongOne) {
  for (double seconds : {1e10, 1e300, HUGE_VAL}) {
    LocalGroupOptions options;
    options.world = 2;
    options.deadline = std::chrono::duration<double>(seconds);
    options.on_enter = [](unsigned rank, const CollectiveSite &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
    };
    auto statuses = onRanks(options, [&](Communicator &comm) {
      comm.beginProgram();
      return comm.allReduce(siteOf(0), plan::F32, {});
    });
    for (const absl::Status &status : statuses) {
      EXPECT_TRUE(status.ok()) << seconds << ": " << status;
    }
  }
}

} // namespace
