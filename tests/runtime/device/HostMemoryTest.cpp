//===- HostMemoryTest.cpp - memory that is not there is refused -----------===//

#include "runtime/device/host/HostMemory.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

using namespace zerograph;

namespace {

TEST(HostMemory, IsWhatTheKernelStates) {
  HostMemory memory = hostMemory();
  ASSERT_TRUE(memory.total && memory.available);
  EXPECT_GT(*memory.available, uint64_t(1) << 20);
  EXPECT_LE(*memory.available, *memory.total);
}

TEST(HostMemory, TheLeastOfWhatIsAvailableAndAllowedCounts) {
  HostMemory memory;
  EXPECT_TRUE(checkMemory(~uint64_t(0), memory).ok()); // nothing is known
  memory.available = 1000;
  memory.swap = 500;
  EXPECT_TRUE(checkMemory(1500, memory).ok());
  expectSays(checkMemory(1501, memory),
             "need 1,501 bytes, and 1,500 are available");
  memory.limit = 1200;
  EXPECT_FALSE(checkMemory(1201, memory).ok());
}

} // namespace
