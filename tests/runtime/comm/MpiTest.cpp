//===- MpiTest.cpp - collectives of processes -----------------------------===//
//
// Started by mpirun: every rank runs the same tests in the same order.
//
//   mpirun -n 3 mpi_comm_test           what works
//   mpirun -n 3 mpi_comm_test late      one of the ways in which ranks end:
//                                       late, failed, stuck
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiCommunicator.h"
#include "runtime/device/host/HostBuffer.h"
#include "tests/runtime/comm/ControlPlaneChecks.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <mpi.h>
#include <numeric>
#include <random>
#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using std::chrono::seconds;

/// Longer than a busy machine keeps a rank from running. Who is late, is so by
/// more, and the others end before.
constexpr seconds kDeadline(5), kLate(9);
/// The time after which the first rank lets the launcher end the others: the
/// late one has come by then, or has waited three seconds more for a thread of
/// MPI's.
constexpr seconds kLastWords(10);
std::atomic<bool> sending_is_stuck = false;

} // namespace

/// In place of MPI's own, as its profiling interface allows: MPI may stay in a
/// call where a peer's connection has broken.
extern "C" int MPI_Isend(const void *data, int count, MPI_Datatype type,
                         int peer, int tag, MPI_Comm ranks,
                         MPI_Request *request) {
  if (sending_is_stuck) {
    std::this_thread::sleep_for(4 * kDeadline);
  }
  return PMPI_Isend(data, count, type, peer, tag, ranks, request);
}

namespace {

MpiCommunicator *comm = nullptr;

CollectiveSite siteOf(uint32_t sequence, const std::string &name = "unit") {
  return {"step", name, name + "/gradients", sequence};
}

template <typename Element>
std::byte *bytesOf(std::vector<Element> &values) {
  return reinterpret_cast<std::byte *>(values.data());
}

/// Returns what rank `rank` contributes: wildly different magnitudes, so that
/// another order of additions gives other bits.
template <typename Element>
std::vector<Element> contributionOf(unsigned rank, uint64_t elements) {
  std::mt19937 random(3 + rank);
  std::uniform_real_distribution<double> exponent(-10, 10);
  std::vector<Element> values;
  for (uint64_t i = 0; i < elements; ++i) {
    values.push_back(
        Element(std::exp2(exponent(random)) * (random() % 2 ? 1 : -1)));
  }
  return values;
}

template <typename Element>
void checkReduceScatter(plan::ElementType type, uint64_t shard_elements,
                        uint64_t chunk_elements, bool accumulate,
                        bool in_place) {
  unsigned world = comm->world(), rank = comm->rank();
  auto whole = contributionOf<Element>(rank, world * shard_elements);
  std::vector<Element> apart(shard_elements, Element(0.3));
  std::vector<Element> staging(world * chunk_elements);
  ReduceScatterCall call;
  call.wire = call.type = type;
  call.whole = bytesOf(whole);
  call.shard = in_place
                   ? bytesOf(whole) + rank * shard_elements * sizeof(Element)
                   : bytesOf(apart);
  call.staging = bytesOf(staging);
  call.shard_bytes = shard_elements * sizeof(Element);
  call.chunk_bytes = chunk_elements * sizeof(Element);
  call.accumulate = accumulate;
  uint64_t before = comm->traffic().reduce;
  comm->beginProgram();
  absl::Status status = comm->reduceScatter(siteOf(0), call);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(comm->traffic().reduce - before,
            (world - 1) * shard_elements * sizeof(Element));
  std::vector<std::vector<Element>> all;
  for (unsigned peer = 0; peer < world; ++peer) {
    all.push_back(contributionOf<Element>(peer, world * shard_elements));
  }
  for (uint64_t i = 0; i < shard_elements; ++i) {
    Element sum = accumulate ? Element(0.3) : Element(0);
    for (unsigned peer = 0; peer < world; ++peer) {
      sum = sum + all[peer][rank * shard_elements + i];
    }
    ASSERT_EQ(std::memcmp(&sum, call.shard + i * sizeof(Element), sizeof(sum)),
              0)
        << "element " << i;
  }
}

TEST(MpiTest, AReductionIsTheFoldInRankOrderToTheBit) {
  for (uint64_t elements : {256u, 1280u, 5000u}) {
    for (uint64_t chunk : {64u, 1000u, 8192u}) {
      for (bool accumulate : {false, true}) {
        checkReduceScatter<float>(plan::F32, elements, chunk, accumulate,
                                  /*in_place=*/false);
        checkReduceScatter<double>(plan::F64, elements, chunk, accumulate,
                                   /*in_place=*/false);
      }
      checkReduceScatter<float>(plan::F32, elements, chunk, false,
                                /*in_place=*/true);
    }
  }
}

/// Longer than any one message of MPI that is sent.
TEST(MpiTest, LongMessagesGoInPieces) {
  checkReduceScatter<float>(plan::F32, 1'200'001, 1'100'000, true,
                            /*in_place=*/false);
}

TEST(MpiTest, AGatherGivesEveryRankEveryShard) {
  unsigned world = comm->world(), rank = comm->rank();
  // Nothing, a little, and more than a piece.
  for (uint64_t elements : {0u, 7u, 2'000'003u}) {
    for (bool in_place : {false, true}) {
      std::vector<uint32_t> whole(world * elements, 0), small(world * 5, 0);
      std::vector<uint32_t> shard(elements), other(5, 1000 + rank);
      for (uint64_t i = 0; i < elements; ++i) {
        shard[i] = uint32_t(i * 7 + rank);
      }
      std::byte *from = bytesOf(shard);
      if (in_place) {
        std::copy(shard.begin(), shard.end(), whole.begin() + rank * elements);
        from = bytesOf(whole) + rank * elements * 4;
      }
      uint64_t before = comm->traffic().gather;
      comm->beginProgram();
      absl::Status status = comm->allGather(
          siteOf(0), {GatherSegment{from, bytesOf(whole), elements * 4},
                      GatherSegment{bytesOf(other), bytesOf(small), 20}});
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(comm->traffic().gather - before,
                (world - 1) * (elements * 4 + 20));
      for (unsigned peer = 0; peer < world; ++peer) {
        ASSERT_EQ(small[peer * 5 + 4], 1000 + peer);
        for (uint64_t i = 0; i < elements; ++i) {
          ASSERT_EQ(whole[peer * elements + i], uint32_t(i * 7 + peer));
        }
      }
    }
  }
}

TEST(MpiTest, AnAllReduceAddsToWhatIsThere) {
  unsigned world = comm->world(), rank = comm->rank();
  std::vector<float> a = contributionOf<float>(rank, 3), b = {float(rank)};
  std::vector<float> sums = {0.5f, 0.25f, 0}, other = {1};
  uint64_t before = comm->traffic().scalar;
  comm->beginProgram();
  absl::Status status =
      comm->allReduce(siteOf(0), plan::F32,
                      {ReduceArray{bytesOf(a), bytesOf(sums), 12},
                       ReduceArray{bytesOf(b), bytesOf(other), 4}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(comm->traffic().scalar - before, (world - 1) * 16);
  std::vector<float> expected = {0.5f, 0.25f, 0};
  for (unsigned peer = 0; peer < world; ++peer) {
    std::vector<float> values = contributionOf<float>(peer, 3);
    for (int i = 0; i < 3; ++i) {
      expected[i] += values[i];
    }
  }
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(other[0], 1 + world * (world - 1) / 2);
  EXPECT_TRUE(absl::IsUnimplemented(comm->allReduce(siteOf(1), plan::I32, {})));
}

/// Two streams come to their collectives in another order on every rank.
TEST(MpiTest, CollectivesRunInThePlansOrder) {
  unsigned world = comm->world(), rank = comm->rank();
  for (int program = 0; program < 50; ++program) {
    comm->beginProgram();
    std::vector<std::vector<uint32_t>> wholes(8, std::vector<uint32_t>(world));
    std::vector<uint32_t> shards(8);
    auto stream = [&](unsigned first) {
      for (unsigned i = first; i < 8; i += 2) {
        if ((i + rank + program) % 3 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(300));
        }
        shards[i] = 100 * i + rank;
        GatherSegment segment{reinterpret_cast<std::byte *>(&shards[i]),
                              bytesOf(wholes[i]), 4};
        absl::Status status = comm->allGather(siteOf(i), {segment});
        ASSERT_TRUE(status.ok()) << status;
      }
    };
    std::thread odd([&] { stream(1); });
    stream(0);
    odd.join();
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned peer = 0; peer < world; ++peer) {
        ASSERT_EQ(wholes[i][peer], 100 * i + peer);
      }
    }
  }
}

/// A rank that comes late to a collective is waited for: that is no work of it.
TEST(MpiTest, WaitingIsToldFromWork) {
  unsigned world = comm->world();
  std::vector<std::byte> shard(4096), whole(world * shard.size());
  HostBuffer from(shard.data(), shard.size()), to(whole.data(), whole.size());
  plan::Step step;
  step.mutable_all_gather();
  std::vector<unsigned> all(world);
  std::iota(all.begin(), all.end(), 0);
  auto operation =
      comm->bind(step, siteOf(0), all,
                 {{&from, 0, shard.size()}, {&to, 0, whole.size()}})
          .value();
  comm->beginProgram();
  if (comm->rank() == 1) {
    // Far longer than a busy machine keeps a rank from running.
    std::this_thread::sleep_for(seconds(2));
  }
  auto now = [] {
    return std::chrono::steady_clock::now().time_since_epoch() /
           std::chrono::nanoseconds(1);
  };
  int64_t begin = now();
  WorkTime work;
  absl::Status status = operation->issue({nullptr, 0, &work});
  ASSERT_TRUE(status.ok()) << status;
  int64_t end = now();
  EXPECT_LE(begin, work.begin);
  EXPECT_LE(work.begin, work.end);
  EXPECT_LE(work.end, end);
  if (world > 1 && comm->rank() == 0) {
    EXPECT_GT(work.begin - begin, 1'000'000'000);
    EXPECT_LT(work.end - work.begin, 1'000'000'000);
  }
}

TEST(MpiTest, TextsReachWhoTheyAreFor) { checkTexts(*comm); }

TEST(MpiTest, EmptyTextsKeepRanksInStep) { checkEmptyTexts(*comm); }

TEST(MpiTest, WhatFailsBeforeTheRunIsSaidOnce) {
  if (comm->world() == 1) {
    GTEST_SKIP() << "no other rank";
  }
  checkAgreement(*comm);
}

/// A rank that says it is busy may take longer than the deadline.
TEST(MpiTest, ABusyRankIsWaitedFor) {
  checkBusy(*comm, kDeadline + seconds(1));
}

/// Rank 0 comes late, but in time, and then waits for the last rank, which does
/// not. Those who wait for rank 0 all the while must not take it for the
/// culprit, though their deadline is over before rank 0's.
bool relayedAsExpected() {
  unsigned last = comm->world() - 1;
  if (comm->rank() == 0) {
    std::this_thread::sleep_for(seconds(1));
  } else if (comm->rank() == last) {
    std::this_thread::sleep_for(2 * kDeadline);
  }
  absl::Status status = comm->collect("texts", "a text").status();
  if (status.ok()) {
    status = comm->broadcast("a text", "from 0").status();
  }
  std::fprintf(stderr, "rank %u: %s\n", comm->rank(),
               status.ToString().c_str());
  return !status.ok() &&
         status.message().find(absl::StrCat("waited 5 s for rank ", last)) !=
             absl::string_view::npos;
}

/// The last rank comes late, fails, or stays in a call of MPI, in the second of
/// three collectives. Whether this rank ends as it should.
bool endsAsExpected(const std::string &way) {
  if (way == "relayed") {
    return relayedAsExpected();
  }
  unsigned last = comm->world() - 1;
  comm->beginProgram();
  absl::Status status;
  auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < 3 && status.ok(); ++i) {
    if (i == 1 && comm->rank() == last) {
      if (way == "failed") {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        comm->abort(absl::DataLossError("a bad sample"));
      } else if (way == "stuck") {
        sending_is_stuck = true;
      } else {
        std::this_thread::sleep_for(kLate);
      }
    }
    float value = 1, sum = 0;
    status =
        comm->allReduce(siteOf(i, "loss"), plan::F32,
                        {ReduceArray{reinterpret_cast<std::byte *>(&value),
                                     reinterpret_cast<std::byte *>(&sum), 4}});
  }
  auto took = std::chrono::steady_clock::now() - begin;
  std::string said(status.message());
  std::fprintf(stderr, "rank %u, %.1f s: %s\n", comm->rank(),
               std::chrono::duration<double>(took).count(),
               status.ToString().c_str());
  auto has = [&](const std::string &part) {
    return said.find(part) != std::string::npos;
  };
  bool where = has("all_reduce loss of program \"step\" (loss/gradients, "
                   "sequence 1)");
  if (way == "failed") {
    return where && took < kDeadline &&
           has(absl::StrCat("rank ", last, " failed: a bad sample"));
  }
  if (way == "stuck") {
    return where && has("waited 5 s for rank ") && took >= kDeadline &&
           took < 3 * kDeadline;
  }
  // The late one learns of it; the others waited as long as they had to.
  return where &&
         has(absl::StrCat("waited 5 s for rank ", last, " (process")) &&
         (comm->rank() == last || (took >= kDeadline && took < kLate));
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto launch = detectLaunch();
  if (!launch.ok() || !*launch) {
    std::fprintf(stderr, "start it by mpirun\n");
    return 2;
  }
  MpiOptions options;
  options.deadline = kDeadline;
  auto joined = MpiCommunicator::join(**launch, options);
  if (!joined.ok()) {
    std::fprintf(stderr, "%s\n", joined.status().ToString().c_str());
    return 2;
  }
  comm = joined->get();
  if (argc > 1) {
    bool expected = endsAsExpected(argv[1]);
    std::printf("rank %u of %u: %s\n", comm->rank(), comm->world(),
                expected ? "as expected" : "NOT AS EXPECTED");
    std::fflush(stdout);
    std::this_thread::sleep_for(kLastWords);
    comm->abortAll();
    return 1;
  }
  int code = RUN_ALL_TESTS();
  absl::Status status = comm->finish();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
  }
  return status.ok() ? code : 1;
}
