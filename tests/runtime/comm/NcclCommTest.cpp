//===- NcclCommTest.cpp - communicators and the memory they register ------===//
//
// Two ranks with an emulated GPU each.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclComm.h"
#include "tests/emulator/Nccl.h"
#include "tests/runtime/comm/OnRanks.h"
#include "tests/support/Says.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

constexpr uint64_t kBytes = 4096;

/// Ranks of one process that say they are processes, on a machine each or on
/// one.
class Processes final : public ControlPlane {
public:
  Processes(ControlPlane &own, bool apart) : own(own), apart(apart) {}
  unsigned world() const override { return own.world(); }
  unsigned rank() const override { return own.rank(); }
  absl::Status barrier(const std::string &what) override {
    return own.barrier(what);
  }
  absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) override {
    bool names = apart && what == "finding the machines of the ranks";
    return own.exchange(what, names ? absl::StrCat(text, rank()) : text);
  }
  absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) override {
    return own.collect(what, text);
  }
  bool inOneProcess() const override { return false; }
  absl::Status failure() override { return own.failure(); }
  void abort(const absl::Status &status) override { own.abort(status); }

private:
  ControlPlane &own;
  bool apart;
};

class NcclCommTest : public ::testing::Test {
protected:
  /// Joins, registers an arena and then another, gathers in the first, closes.
  /// Returns what was noted of each arena, by rank.
  std::vector<std::vector<std::string>> registerTwo(bool apart) {
    std::vector<std::vector<std::string>> notes(2);
    LocalGroupOptions options;
    options.world = 2;
    auto run = [&](ControlPlane &local) {
      Processes control(local, apart);
      return oneRank(control, notes[local.rank()]);
    };
    for (const absl::Status &status : onRanks(options, run)) {
      EXPECT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(gpu.complaint(), "");
    EXPECT_EQ(gpu.leftovers() + nccl.leftovers(), "");
    return notes;
  }

  static absl::Status oneRank(ControlPlane &control,
                              std::vector<std::string> &notes) {
    ZG_ASSIGN_OR_RETURN(const CudaApi *cuda, cudaApi());
    ZG_ASSIGN_OR_RETURN(const NcclApi *api, ncclApi());
    ZG_ASSIGN_OR_RETURN(auto context,
                        CudaContext::open(*cuda, int(control.rank())));
    ZG_ASSIGN_OR_RETURN(Scratch first, Scratch::make(context, kBytes));
    ZG_ASSIGN_OR_RETURN(Scratch second, Scratch::make(context, kBytes));
    auto ready = [] { return absl::OkStatus(); };
    ZG_RETURN_IF_ERROR(first.await(std::chrono::seconds(20), ready));
    ZG_RETURN_IF_ERROR(second.await(std::chrono::seconds(20), ready));
    ZG_ASSIGN_OR_RETURN(auto comm, NcclComm::join(*api, context, control,
                                                  std::chrono::seconds(20)));
    for (const Scratch *arena : {&first, &second}) {
      ZG_ASSIGN_OR_RETURN(std::string note,
                          comm->registerMemory(arena->memory(), kBytes));
      notes.push_back(note);
    }
    auto *memory = reinterpret_cast<std::byte *>(first.memory());
    ZG_RETURN_IF_ERROR(comm->group([&](ncclComm_t of) -> absl::Status {
      ZG_NCCL(*api, ncclAllGather, memory, memory + 1024, 64, ncclUint8, of,
              first.stream());
      return absl::OkStatus();
    }));
    ZG_RETURN_IF_ERROR(
        first.await(std::chrono::seconds(20), [&] { return comm->check(); }));
    return comm->close();
  }

  emulator::Gpu gpu{1, 2};
  emulator::Nccl nccl{gpu};
};

TEST_F(NcclCommTest, RegistersOnOneMachine) {
  for (const auto &notes : registerTwo(/*apart=*/false)) {
    EXPECT_THAT(notes, ::testing::ElementsAre("", ""));
  }
  EXPECT_EQ(nccl.registrations(), 8u); // two ranks, two arenas, each a window
}

/// The connections that peers' memory needs are made before the first step:
/// each kind of collective has been in each arena.
TEST_F(NcclCommTest, ExchangesInEachArenaOnce) {
  registerTwo(/*apart=*/false);
  EXPECT_EQ(nccl.launches(), 2u * (3 + 2 * 3 + 1));
}

/// It may hang there.
TEST_F(NcclCommTest, RegistersNothingOnSeveralMachinesBefore232) {
  for (const auto &notes : registerTwo(/*apart=*/true)) {
    ASSERT_EQ(notes.size(), 2u);
    expectSays(notes[0], "NCCL 2.28.9 may hang");
  }
  EXPECT_EQ(nccl.registrations(), 0u);
  EXPECT_FALSE(nccl.calls().contains("ncclCommRegister"));
}

TEST_F(NcclCommTest, RegistersOnSeveralMachinesSince232) {
  nccl.setVersion(23200);
  registerTwo(/*apart=*/true);
  EXPECT_EQ(nccl.registrations(), 8u);
}

/// A communicator in which a call has failed is of no use any more, on any
/// rank.
TEST_F(NcclCommTest, ARefusedWindowIsANote) {
  nccl.refuseWindows(/*rank=*/1);
  for (const auto &notes : registerTwo(/*apart=*/false)) {
    ASSERT_EQ(notes.size(), 2u);
    expectSays(notes[0], "no window of the arena on rank 1 ",
               "no handle for other machines");
    EXPECT_EQ(notes[1], "");
  }
  std::map<std::string, uint64_t> calls = nccl.calls();
  EXPECT_EQ(calls["ncclCommWindowRegister"], 2u);
  EXPECT_EQ(calls["ncclCommInitRankConfig"], 4u);
  EXPECT_EQ(calls["ncclCommRegister"], 6u); // the first arena's twice
}

} // namespace
