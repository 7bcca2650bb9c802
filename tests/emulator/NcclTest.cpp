//===- NcclTest.cpp - what emulated NCCL finds ----------------------------===//

#include "tests/emulator/Nccl.h"
#include "runtime/device/cuda/CudaMemory.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// Two ranks of one thread, each with a GPU, two streams and 4 KiB.
class NcclTest : public ::testing::Test {
protected:
  struct Rank {
    CUcontext context = nullptr;
    CUstream streams[2] = {};
    std::shared_ptr<CudaContext> gpu;
    std::unique_ptr<CudaMemory> owned;
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
    ncclComm_t comm = nullptr;
  };

  void SetUp() override {
    ncclUniqueId id = {};
    ASSERT_EQ(api.ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config;
    config.blocking = 0;
    for (int i = 0; i < 2; ++i) {
      Rank &rank = ranks[i];
      ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&rank.context, i), 0);
      cuda.cuCtxSetCurrent(rank.context);
      for (CUstream &stream : rank.streams) {
        cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
      }
      rank.gpu = *CudaContext::open(cuda, i);
      rank.owned = *makeGpuMemory(rank.gpu, 4096);
      rank.memory = rank.owned->address();
      cuda.cuEventCreate(&rank.event, CU_EVENT_DISABLE_TIMING);
      ASSERT_EQ(api.ncclCommInitRankConfig(&rank.comm, 2, id, i, &config),
                ncclInProgress);
    }
    settle();
  }

  void enter(int rank) { cuda.cuCtxSetCurrent(ranks[rank].context); }
  int state(int rank) {
    int state = 0;
    enter(rank);
    EXPECT_EQ(api.ncclCommGetAsyncError(ranks[rank].comm, &state), 0);
    return state;
  }
  /// Until both are done with their calls.
  void settle() {
    while (gpu.complaint().empty() &&
           (state(0) == ncclInProgress || state(1) == ncclInProgress)) {
    }
  }
  int gather(int rank, size_t bytes, int stream = 0) {
    const Rank &r = ranks[rank];
    enter(rank);
    return api.ncclAllGather(at(r.memory), at(r.memory + 1024), bytes,
                             ncclUint8, r.comm, r.streams[stream]);
  }
  void finish(int rank, int stream = 0) {
    enter(rank);
    cuda.cuStreamSynchronize(ranks[rank].streams[stream]);
  }
  static void *at(CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  }
  void set(int rank, unsigned char value) {
    enter(rank);
    cuda.cuMemsetD8Async(ranks[rank].memory, value, 1024,
                         ranks[rank].streams[0]);
  }
  std::string read(int rank, uint64_t offset, size_t bytes) {
    enter(rank);
    std::string text(bytes, 'x');
    cuda.cuMemcpyDtoH(text.data(), ranks[rank].memory + offset, bytes);
    return text;
  }

  Gpu gpu{1, 2};
  Nccl nccl{gpu};
  const CudaApi &cuda = **cudaApi();
  const NcclApi &api = **ncclApi();
  Rank ranks[2];
};

TEST_F(NcclTest, GathersInRankOrder) {
  for (int rank : {0, 1}) {
    set(rank, rank == 0 ? 'a' : 'b');
    gather(rank, 2);
  }
  settle();
  finish(0);
  finish(1);
  EXPECT_EQ(read(0, 1024, 4), "aabb");
  EXPECT_EQ(read(1, 1024, 4), "aabb");
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(nccl.launches(), 2u);
}

TEST_F(NcclTest, RanksThatDiffer) {
  gather(0, 64);
  gather(1, 32);
  settle();
  finish(0);
  expectSays(gpu.complaint(), "all_gather of 64 bytes of type 1",
             "all_gather of 32 bytes");
}

TEST_F(NcclTest, ASendThatNobodyTakes) {
  enter(0);
  api.ncclSend(at(ranks[0].memory), 64, ncclUint8, 1, ranks[0].comm,
               ranks[0].streams[0]);
  enter(1);
  api.ncclRecv(at(ranks[1].memory), 32, ncclUint8, 0, ranks[1].comm,
               ranks[1].streams[0]);
  settle();
  finish(0);
  expectSays(gpu.complaint(),
             "rank 0 sends rank 1 64 bytes, which takes 32 bytes");
}

/// NCCL launches nothing of a group in which a call has failed.
TEST_F(NcclTest, AFailedCallFailsItsGroup) {
  enter(0);
  nccl.failCall("ncclRecv", 1);
  api.ncclGroupStart();
  auto send = [&] {
    return api.ncclSend(at(ranks[0].memory), 64, ncclUint8, 1, ranks[0].comm,
                        ranks[0].streams[0]);
  };
  EXPECT_EQ(send(), 0);
  EXPECT_NE(api.ncclRecv(at(ranks[0].memory), 64, ncclUint8, 1, ranks[0].comm,
                         ranks[0].streams[0]),
            0);
  EXPECT_EQ(send(), 0);
  EXPECT_NE(api.ncclGroupEnd(), 0);
  settle();
  EXPECT_EQ(nccl.launches(), 0u);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(NcclTest, StreamsThatNothingOrders) {
  for (int stream : {0, 1}) {
    gather(0, 64, stream);
    gather(1, 64, stream);
    settle();
  }
  for (int stream : {0, 1}) {
    finish(0, stream);
  }
  expectSays(gpu.complaint(), "nothing puts the two in order");
}

TEST_F(NcclTest, AnEventOrdersStreams) {
  for (int stream : {0, 1}) {
    for (int rank : {0, 1}) {
      const Rank &r = ranks[rank];
      enter(rank);
      if (stream == 1) {
        cuda.cuStreamWaitEvent(r.streams[1], r.event, 0);
      }
      gather(rank, 64, stream);
    }
    settle();
    for (int rank : {0, 1}) {
      enter(rank);
      cuda.cuEventRecord(ranks[rank].event, ranks[rank].streams[stream]);
    }
  }
  finish(0, 1);
  finish(1, 1);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(NcclTest, ACallBeforeTheOneBeforeIsDone) {
  for (int i = 0; i < 64; ++i) {
    gather(0, 64);
  }
  expectSays(gpu.complaint(), "not done with the call before");
}

TEST_F(NcclTest, ACommunicatorThatIsGone) {
  enter(0);
  api.ncclCommAbort(ranks[0].comm);
  gather(0, 64);
  expectSays(gpu.complaint(), "a communicator is used that is not");
}

TEST_F(NcclTest, AGroupThatDoesNotEnd) {
  enter(0);
  api.ncclGroupStart();
  int state;
  api.ncclCommGetAsyncError(ranks[0].comm, &state);
  expectSays(gpu.complaint(), "is called in a group");
}

TEST_F(NcclTest, AWindowIsOfAllRanks) {
  ncclWindow_t windows[2] = {};
  auto make = [&](int rank) {
    enter(rank);
    EXPECT_EQ(api.ncclCommWindowRegister(
                  ranks[rank].comm, at(ranks[rank].memory), 4096,
                  &windows[rank], NCCL_WIN_COLL_SYMMETRIC),
              ncclInProgress);
  };
  make(0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(state(0), ncclInProgress);
  }
  make(1);
  EXPECT_EQ(state(1), ncclSuccess);
  EXPECT_EQ(state(0), ncclSuccess);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(NcclTest, MemoryOfAnotherGpu) {
  enter(0);
  api.ncclAllGather(at(ranks[1].memory), at(ranks[0].memory), 64, ncclUint8,
                    ranks[0].comm, ranks[0].streams[0]);
  gather(1, 64);
  settle();
  finish(0);
  expectSays(gpu.complaint(), "touches memory of GPU 1");
}

TEST_F(NcclTest, AnErrorThatComesLater) {
  nccl.failLater(1, 1);
  gather(0, 64);
  gather(1, 64);
  settle();
  finish(1);
  EXPECT_EQ(state(1), ncclRemoteError);
  EXPECT_EQ(state(0), ncclSuccess);
}

TEST_F(NcclTest, AbortEndsWhatWaits) {
  nccl.lose(1, 1);
  gather(0, 64);
  gather(1, 64);
  settle();
  enter(0);
  cuda.cuEventRecord(ranks[0].event, ranks[0].streams[0]);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(cuda.cuEventQuery(ranks[0].event), CUDA_ERROR_NOT_READY);
  }
  api.ncclCommAbort(ranks[0].comm);
  finish(0);
  EXPECT_EQ(cuda.cuEventQuery(ranks[0].event), 0);
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(nccl.leftovers(), "1 communicators");
}

TEST_F(NcclTest, AGraphOfAProcessWithSeveralRanks) {
  enter(0);
  cuda.cuStreamBeginCapture(ranks[0].streams[0],
                            CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  gather(0, 64);
  expectSays(gpu.complaint(), "may deadlock");
}

/// A rank without others records a gather of what its memory begins with.
class NcclGraphTest : public NcclTest {
protected:
  void SetUp() override {
    NcclTest::SetUp();
    ncclUniqueId id = {};
    api.ncclGetUniqueId(&id);
    ncclConfig_t config;
    config.blocking = 0;
    enter(0);
    api.ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    settleAlone();
    cuda.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    api.ncclAllGather(at(ranks[0].memory), at(ranks[0].memory + 1024), 64,
                      ncclUint8, comm, stream());
    settleAlone();
    CUgraph graph = nullptr;
    ASSERT_EQ(cuda.cuStreamEndCapture(stream(), &graph), 0);
    ASSERT_EQ(cuda.cuGraphInstantiate(&executable, graph, 0), 0);
    cuda.cuGraphDestroy(graph);
  }
  CUstream stream() const { return ranks[0].streams[0]; }
  void settleAlone() {
    int state = ncclInProgress;
    while (state == ncclInProgress) {
      api.ncclCommGetAsyncError(comm, &state);
    }
  }

  ncclComm_t comm = nullptr;
  CUgraphExec executable = nullptr;
};

TEST_F(NcclGraphTest, GathersAtEachLaunch) {
  EXPECT_EQ(nccl.launches(), 0u);
  for (char value : {'a', 'b'}) {
    set(0, value);
    cuda.cuGraphLaunch(executable, stream());
    finish(0);
    EXPECT_EQ(read(0, 1024, 64), std::string(64, value));
  }
  EXPECT_EQ(nccl.launches(), 2u);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(NcclGraphTest, LaunchesGoOnWithoutTheGraph) {
  set(0, 'a');
  cuda.cuGraphLaunch(executable, stream());
  cuda.cuGraphExecDestroy(executable);
  api.ncclCommFinalize(comm);
  settleAlone();
  api.ncclCommDestroy(comm);
  finish(0);
  EXPECT_EQ(read(0, 1024, 64), std::string(64, 'a'));
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(NcclGraphTest, KeepsTheCommunicator) {
  api.ncclCommAbort(comm);
  expectSays(gpu.complaint(), "while a graph has its collectives");
}

TEST_F(NcclTest, RanksOnOneGpu) {
  ncclUniqueId id = {};
  api.ncclGetUniqueId(&id);
  ncclConfig_t config;
  config.blocking = 0;
  ncclComm_t comms[2];
  for (int i = 0; i < 2; ++i) {
    enter(0);
    api.ncclCommInitRankConfig(&comms[i], 2, id, i, &config);
  }
  int state = ncclInProgress;
  while (state == ncclInProgress) {
    api.ncclCommGetAsyncError(comms[0], &state);
  }
  EXPECT_EQ(state, ncclInvalidUsage);
  expectSays(api.ncclGetLastError(comms[0]), "Duplicate GPU");
}

} // namespace
