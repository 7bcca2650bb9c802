//===- CudaMemoryTest.cpp - memory of a GPU, and who may be given it ------===//

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "tests/emulator/Gpu.h"

#include <gtest/gtest.h>

namespace zerograph {
namespace {

constexpr int kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
              kFabric = CU_MEM_HANDLE_TYPE_FABRIC;

class CudaMemoryTest : public ::testing::Test {
protected:
  std::shared_ptr<CudaContext> open() {
    return *CudaContext::open(**cudaApi(), 0);
  }
  /// Returns the handles by which others may be given the GPU's memory.
  uint64_t handleTypes() {
    auto context = open();
    auto memory = makeGpuMemory(context, 4096);
    EXPECT_TRUE(memory.ok()) << memory.status();
    uint64_t types = 0;
    context->api.cuPointerGetAttribute(
        &types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
        (*memory)->address());
    return types;
  }

  emulator::Gpu gpu{1};
};

TEST_F(CudaMemoryTest, IsSharedWithinAMachine) {
  EXPECT_EQ(handleTypes(), uint64_t(kFile));
}

TEST_F(CudaMemoryTest, IsSharedBetweenMachinesThatNvlinkConnects) {
  gpu.reportFabric();
  EXPECT_EQ(handleTypes(), uint64_t(kFile | kFabric));
}

/// The GPU has such handles, and the system gives this process no channel.
TEST_F(CudaMemoryTest, IsSharedWithinAMachineWhereNoOtherMayHaveIt) {
  gpu.reportFabric();
  gpu.refuseHandles(kFabric);
  EXPECT_EQ(handleTypes(), uint64_t(kFile));
}

TEST_F(CudaMemoryTest, IsSharedWithNobodyInASandbox) {
  gpu.reportFabric();
  gpu.refuseHandles();
  EXPECT_EQ(handleTypes(), 0u);
}

/// The driver promises copies to addresses of the GPU alone.
TEST_F(CudaMemoryTest, OfTheHostIsReachedWithoutTheDriver) {
  auto buffer = makeCudaBuffer(open(), plan::PINNED, 64, 64).value();
  EXPECT_EQ(*buffer->touchedEnd(1), 0u);
  uint32_t value = 7, read = 1;
  EXPECT_TRUE(buffer->write(8, &value, sizeof(value)).ok());
  EXPECT_TRUE(buffer->read(8, &read, sizeof(read)).ok());
  EXPECT_EQ(read, value);
  EXPECT_EQ(*buffer->touchedEnd(4), 12u);
  EXPECT_TRUE(buffer->fill(8, 4).ok());
  EXPECT_TRUE(buffer->read(8, &read, sizeof(read)).ok());
  EXPECT_EQ(read, 0u);
  for (const char *call :
       {"cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemsetD8", "cuMemsetD32"}) {
    EXPECT_FALSE(gpu.calls().contains(call)) << call;
  }
}

} // namespace
} // namespace zerograph
