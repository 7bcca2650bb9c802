//===- GpuTest.cpp - what a real driver may get away with is found --------===//

#include "tests/emulator/Gpu.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// A GPU with a context, two streams and 4 KiB of memory.
class GpuTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), 0);
    ASSERT_EQ(api.cuCtxSetCurrent(context), 0);
    for (CUstream &stream : streams) {
      ASSERT_EQ(
          api.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
          0);
    }
    allocate();
    ASSERT_EQ(api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), 0);
  }
  void allocate() {
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc access = {wanted.location,
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(api.cuMemAddressReserve(&memory, 4096, 0, 0, 0), 0);
    ASSERT_EQ(api.cuMemCreate(&handle, 4096, &wanted, 0), 0);
    ASSERT_EQ(api.cuMemMap(memory, 4096, 0, handle, 0), 0);
    ASSERT_EQ(api.cuMemRelease(handle), 0);
    ASSERT_EQ(api.cuMemSetAccess(memory, 4096, &access, 1), 0);
  }
  int set(CUstream stream, uint64_t offset = 0) {
    return api.cuMemsetD8Async(memory + offset, 1, 64, stream);
  }

  Gpu gpu{1};
  const CudaApi &api = **cudaApi();
  CUcontext context = nullptr;
  CUstream streams[2] = {};
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
};

/// In one queue a stream that awaits the host holds up those after it.
TEST_F(GpuTest, StreamsOfOneQueue) {
  void *counter = nullptr;
  ASSERT_EQ(api.cuMemHostAlloc(&counter, sizeof(uint32_t), 0), 0);
  std::memset(counter, 0, sizeof(uint32_t));
  auto address = reinterpret_cast<CUdeviceptr>(counter);
  for (unsigned queues : {2, 1}) {
    gpu.setQueues(queues);
    *static_cast<uint32_t *>(counter) = 0;
    ASSERT_EQ(api.cuStreamWaitValue32(streams[0], address, 1,
                                      CU_STREAM_WAIT_VALUE_GEQ),
              0);
    ASSERT_EQ(set(streams[1]), 0);
    ASSERT_EQ(api.cuEventRecord(event, streams[1]), 0);
    bool done = false;
    for (int i = 0; i < 100; ++i) {
      done |= api.cuEventQuery(event) == 0;
    }
    EXPECT_EQ(done, queues == 2);
    *static_cast<uint32_t *>(counter) = 1;
    EXPECT_EQ(api.cuStreamSynchronize(streams[1]), 0);
    EXPECT_EQ(api.cuStreamSynchronize(streams[0]), 0);
  }
  EXPECT_EQ(gpu.complaint(), "");
  api.cuMemFreeHost(counter);
}

TEST_F(GpuTest, LaunchesOnMemoryThatIsNotThere) {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  ASSERT_EQ(api.cuModuleLoadDataEx(&module,
                                   ".target sm_80\n"
                                   ".visible .entry k(.param .u64 p)\n{\n"
                                   ".reg .b64 %rd<2>;\n"
                                   "ld.param.u64 %rd1, [p];\n"
                                   "st.global.u64 [%rd1], %rd1;\nret;\n}\n",
                                   0, nullptr, nullptr),
            0);
  ASSERT_EQ(api.cuModuleGetFunction(&kernel, module, "k"), 0);
  auto launch = [&](CUdeviceptr place) {
    void *parameters[] = {&place};
    int launched = api.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, streams[0],
                                      parameters, nullptr);
    return launched | api.cuStreamSynchronize(streams[0]);
  };
  EXPECT_EQ(launch(memory), 0);
  EXPECT_NE(launch(memory + 4096), 0);
  EXPECT_THAT(gpu.complaint(), HasSubstr("in no buffer of the launch"));
}

TEST_F(GpuTest, CodeForNewerGpus) {
  CUmodule module = nullptr;
  EXPECT_NE(
      api.cuModuleLoadDataEx(&module, ".target sm_90\n", 0, nullptr, nullptr),
      0);
  EXPECT_EQ(gpu.complaint(), "a GPU of sm_80 is given code for sm_90");
}

TEST_F(GpuTest, WhatIsLeft) {
  EXPECT_EQ(gpu.leftovers(), "2 allocations, 2 streams, 1 events, 1 contexts");
  api.cuEventDestroy(event);
  api.cuMemUnmap(memory, 4096);
  api.cuMemAddressFree(memory, 4096);
  api.cuStreamDestroy(streams[0]);
  api.cuStreamDestroy(streams[1]);
  api.cuDevicePrimaryCtxRelease(0);
  EXPECT_EQ(gpu.leftovers(), "");
}

TEST_F(GpuTest, StreamsThatNothingOrders) {
  set(streams[0]);
  set(streams[1]);
  api.cuStreamSynchronize(streams[0]);
  api.cuStreamSynchronize(streams[1]);
  expectSays(gpu.complaint(), "nothing puts the two in order");
}

TEST_F(GpuTest, OtherMemoryNeedsNoOrder) {
  set(streams[0]);
  set(streams[1], 64);
  api.cuStreamSynchronize(streams[0]);
  api.cuStreamSynchronize(streams[1]);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(GpuTest, AnEventOrdersStreams) {
  set(streams[0]);
  api.cuEventRecord(event, streams[0]);
  api.cuStreamWaitEvent(streams[1], event, 0);
  set(streams[1]);
  api.cuStreamSynchronize(streams[1]);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(GpuTest, AnEventSaysNothingOfWhatComesAfterIt) {
  api.cuEventRecord(event, streams[0]);
  set(streams[0]);
  api.cuStreamWaitEvent(streams[1], event, 0);
  set(streams[1]);
  api.cuStreamSynchronize(streams[0]);
  api.cuStreamSynchronize(streams[1]);
  expectSays(gpu.complaint(), "nothing puts the two in order");
}

TEST_F(GpuTest, TheHostOrdersStreams) {
  set(streams[0]);
  api.cuStreamSynchronize(streams[0]);
  set(streams[1]);
  api.cuStreamSynchronize(streams[1]);
  EXPECT_EQ(gpu.complaint(), "");
}

// A memset of device memory may not be done when the call returns.
TEST_F(GpuTest, StreamsDoNotWaitForTheDefaultOne) {
  api.cuMemsetD8(memory, 0, 64);
  set(streams[0]);
  api.cuStreamSynchronize(streams[0]);
  api.cuStreamSynchronize(nullptr);
  expectSays(gpu.complaint(), "nothing puts the two in order");
}

TEST_F(GpuTest, AnEventThatWasNeverRecorded) {
  EXPECT_NE(api.cuStreamWaitEvent(streams[0], event, 0), 0);
  expectSays(gpu.complaint(), "never recorded");
}

TEST_F(GpuTest, BytesBeyondAnAllocation) {
  set(streams[0], 4064);
  api.cuStreamSynchronize(streams[0]);
  expectSays(gpu.complaint(), "not of one allocation");
}

TEST_F(GpuTest, MemoryThatIsNotMapped) {
  api.cuMemUnmap(memory, 4096);
  set(streams[0]);
  api.cuStreamSynchronize(streams[0]);
  expectSays(gpu.complaint(), "not of one allocation");
}

TEST_F(GpuTest, AddressesThatMemoryIsMappedTo) {
  EXPECT_NE(api.cuMemAddressFree(memory, 4096), 0);
  expectSays(gpu.complaint(), "memory is mapped to");
}

TEST_F(GpuTest, AThreadWithoutAContext) {
  api.cuCtxSetCurrent(nullptr);
  EXPECT_NE(api.cuMemUnmap(memory, 4096), 0);
  expectSays(gpu.complaint(), "needs a context");
}

/// Records what `enqueue` gives streams[0], and launches it twice.
class GraphTest : public GpuTest {
protected:
  template <typename Enqueue>
  void record(const Enqueue &enqueue) {
    ASSERT_EQ(api.cuStreamBeginCapture(streams[0],
                                       CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              0);
    enqueue();
    CUgraph graph = nullptr;
    if (api.cuStreamEndCapture(streams[0], &graph) == 0) {
      ASSERT_EQ(api.cuGraphInstantiate(&executable, graph, 0), 0);
    }
    EXPECT_EQ(api.cuGraphDestroy(graph), 0);
  }
  std::string bytes() {
    std::string text(64, '?');
    api.cuMemcpyDtoH(text.data(), memory, text.size());
    return text;
  }

  CUgraphExec executable = nullptr;
};

TEST_F(GraphTest, RunsWhenItIsLaunchedAndNotBefore) {
  record([&] { set(streams[0]); });
  EXPECT_NE(bytes(), std::string(64, 1));
  api.cuGraphLaunch(executable, streams[0]);
  api.cuStreamSynchronize(streams[0]);
  EXPECT_EQ(bytes(), std::string(64, 1));
  EXPECT_EQ(gpu.complaint(), "");
  api.cuGraphExecDestroy(executable);
}

TEST_F(GraphTest, OfTwoStreams) {
  CUevent join = nullptr;
  api.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
  record([&] {
    set(streams[0]);
    api.cuEventRecord(event, streams[0]);
    api.cuStreamWaitEvent(streams[1], event, 0);
    set(streams[1]);
    api.cuEventRecord(join, streams[1]);
    api.cuStreamWaitEvent(streams[0], join, 0);
    set(streams[0]);
  });
  for (int i = 0; i < 2; ++i) {
    api.cuGraphLaunch(executable, streams[0]);
  }
  api.cuStreamSynchronize(streams[0]);
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(GraphTest, OfStreamsThatNothingOrders) {
  CUevent join = nullptr;
  api.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
  record([&] {
    api.cuEventRecord(event, streams[0]);
    api.cuStreamWaitEvent(streams[1], event, 0);
    set(streams[1]);
    set(streams[0]);
    api.cuEventRecord(join, streams[1]);
    api.cuStreamWaitEvent(streams[0], join, 0);
  });
  api.cuGraphLaunch(executable, streams[0]);
  api.cuStreamSynchronize(streams[0]);
  expectSays(gpu.complaint(), "nothing puts the two in order");
}

TEST_F(GraphTest, OfAStreamThatIsNotJoined) {
  record([&] {
    api.cuEventRecord(event, streams[0]);
    api.cuStreamWaitEvent(streams[1], event, 0);
    set(streams[1]);
  });
  expectSays(gpu.complaint(), "was not joined");
}

TEST_F(GraphTest, ALaunchGoesOnWithoutTheGraph) {
  CUevent join = nullptr;
  api.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
  record([&] {
    api.cuEventRecord(event, streams[0]);
    api.cuStreamWaitEvent(streams[1], event, 0);
    set(streams[1]);
    api.cuEventRecord(join, streams[1]);
    api.cuStreamWaitEvent(streams[0], join, 0);
  });
  api.cuGraphLaunch(executable, streams[0]);
  api.cuGraphExecDestroy(executable);
  EXPECT_THAT(gpu.leftovers(), Not(HasSubstr("executable graphs")));
  api.cuStreamSynchronize(streams[0]);
  EXPECT_EQ(bytes(), std::string(64, 1));
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(GraphTest, AwaitsNothingFromOutside) {
  api.cuEventRecord(event, streams[1]);
  record([&] { api.cuStreamWaitEvent(streams[0], event, 0); });
  expectSays(gpu.complaint(), "from outside of the graph");
}

TEST_F(GraphTest, NothingIsAllocatedMeanwhile) {
  record([&] {
    void *more = nullptr;
    EXPECT_NE(api.cuMemHostAlloc(&more, 64, 0), 0);
  });
  expectSays(gpu.complaint(), "records a graph");
}

using GpuDeathTest = GpuTest;
TEST_F(GpuDeathTest, TheHostCannotTouchItsMemory) {
  EXPECT_DEATH(*reinterpret_cast<volatile char *>(memory) = 1, "");
}

} // namespace
