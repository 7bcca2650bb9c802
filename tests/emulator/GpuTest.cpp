//===- GpuTest.cpp - what a real driver may get away with is found --------===//

#include "tests/emulator/Gpu.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace zerograph;
using namespace zerograph::emulator;
using ::testing::HasSubstr;

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
    ASSERT_EQ(api.cuMemAlloc(&memory, 4096), 0);
    ASSERT_EQ(api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), 0);
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

TEST_F(GpuTest, WhatIsLeft) {
  EXPECT_EQ(gpu.leftovers(), "1 allocations, 2 streams, 1 events, 1 contexts");
  api.cuEventDestroy(event);
  api.cuMemFree(memory);
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
  EXPECT_THAT(gpu.complaint(), HasSubstr("nothing puts the two in order"));
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
  EXPECT_THAT(gpu.complaint(), HasSubstr("nothing puts the two in order"));
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
  EXPECT_THAT(gpu.complaint(), HasSubstr("nothing puts the two in order"));
}

TEST_F(GpuTest, AnEventThatWasNeverRecorded) {
  EXPECT_NE(api.cuStreamWaitEvent(streams[0], event, 0), 0);
  EXPECT_THAT(gpu.complaint(), HasSubstr("never recorded"));
}

TEST_F(GpuTest, BytesBeyondAnAllocation) {
  set(streams[0], 4064);
  api.cuStreamSynchronize(streams[0]);
  EXPECT_THAT(gpu.complaint(), HasSubstr("not of one allocation"));
}

TEST_F(GpuTest, AThreadWithoutAContext) {
  api.cuCtxSetCurrent(nullptr);
  EXPECT_NE(api.cuMemFree(memory), 0);
  EXPECT_THAT(gpu.complaint(), HasSubstr("needs a context"));
}

using GpuDeathTest = GpuTest;
TEST_F(GpuDeathTest, TheHostCannotTouchItsMemory) {
  EXPECT_DEATH(*reinterpret_cast<volatile char *>(memory) = 1, "");
}

} // namespace
