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
  auto statuses = onRanks(options, [&](HostCommunicator &comm) {
    unsigned rank = comm.rank();
    std::vector<Element> staging(world * chunk_elements);
    ReduceScatterCall call;
    call.wire = call.type = type;
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
  auto statuses = onRanks(options, [&](HostCommunicator &comm) {
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
      auto statuses = onRanks(options, [&](HostCommunicator &comm) {
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
  auto statuses = onRanks(options, [&](HostCommunicator &comm) {
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
  auto statuses = onRanks(options, [&](HostCommunicator &comm) {
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

/// Contributions of 16 bits are added up in f32, in rank order: by chunks of
/// two elements, with numbers that a sum of 16 bits would lose.
TEST(LocalGroupTest, AddsUpInMoreBitsThanTravel) {
  struct Type {
    plan::ElementType wire;
    uint16_t one, tiny, most_negative, denormal;
    float tiny_value, negative_value, denormal_value;
  };
  constexpr Type kTypes[] = {{plan::BF16, 0x3f80, 0x3700, 0xff7f, 0x0001,
                              0x1p-17f, -0x1.fep127f, 0x1p-133f},
                             {plan::F16, 0x3c00, 0x0080, 0xfbff, 0x0001,
                              0x1p-17f, -65504.0f, 0x1p-24f}};
  for (const Type &type : kTypes) {
    constexpr uint64_t kElements = 3;
    LocalGroupOptions options;
    options.world = 2;
    std::vector<std::vector<float>> shards(2, {0.5f, 0.5f, 0.5f});
    // Rank 1's part, of rank 0 and of itself.
    const uint16_t whole[2][2 * kElements] = {
        {0, 0, 0, type.one, type.most_negative, type.denormal},
        {0, 0, 0, type.tiny, 0, 0x8000}};
    auto statuses = onRanks(options, [&](HostCommunicator &comm) {
      unsigned rank = comm.rank();
      std::vector<uint16_t> staging(2 * 2);
      ReduceScatterCall call;
      call.wire = type.wire;
      call.whole = reinterpret_cast<const std::byte *>(whole[rank]);
      call.shard = reinterpret_cast<std::byte *>(shards[rank].data());
      call.staging = reinterpret_cast<std::byte *>(staging.data());
      call.shard_bytes = kElements * 2;
      call.chunk_bytes = 2 * 2;
      call.accumulate = rank == 0; // a shard's own business
      comm.beginProgram();
      absl::Status status = comm.reduceScatter(siteOf(0), call);
      EXPECT_EQ(comm.traffic().reduce, kElements * 2);
      return status;
    });
    EXPECT_TRUE(statuses[0].ok() && statuses[1].ok());
    EXPECT_EQ(shards[0], (std::vector<float>{0.5f, 0.5f, 0.5f}));
    EXPECT_EQ(shards[1],
              (std::vector<float>{1 + type.tiny_value, type.negative_value,
                                  type.denormal_value}));
  }
}

} // namespace
