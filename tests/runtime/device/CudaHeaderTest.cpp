//===- CudaHeaderTest.cpp - our declarations are those of cuda.h ----------===//
//
// Compiled against the toolkit's header where there is one: for each function
// that is used its symbol, and the sizes of its result and parameters; and the
// values of constants. cuda.h names functions by macros, so that below `cuX` is
// the version that the header means.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include "runtime/device/cuda/CudaApi.h"
#include "tests/runtime/device/SameShape.h"

#include <string>

namespace {

using zerograph::testing::sameShape;

#define ZEROGRAPH_TEXT(name) #name
#define ZEROGRAPH_SAME(name, symbol, ...)                                      \
  {                                                                            \
    zerograph::CudaApi api = {};                                               \
    EXPECT_TRUE(sameShape(api.name, decltype (&::name)(nullptr))) << #name;    \
    std::string means = ZEROGRAPH_TEXT(name);                                  \
    EXPECT_TRUE(means == symbol || means == kNewer) << means << " " << symbol; \
  }

TEST(CudaHeader, Functions) {
  // A function of later headers; the one that it replaces is there in every
  // driver.
  const std::string kNewer = "cuEventElapsedTime_v2";
  ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_SAME)
}

TEST(CudaHeader, Constants) {
  ZEROGRAPH_EQUAL(CUDA_SUCCESS);
  ZEROGRAPH_EQUAL(CUDA_ERROR_OUT_OF_MEMORY);
  ZEROGRAPH_EQUAL(CUDA_ERROR_NO_DEVICE);
  ZEROGRAPH_EQUAL(CUDA_ERROR_NOT_READY);
  ZEROGRAPH_EQUAL(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
  ZEROGRAPH_EQUAL(CU_STREAM_NON_BLOCKING);
  ZEROGRAPH_EQUAL(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  ZEROGRAPH_EQUAL(CU_STREAM_WAIT_VALUE_GEQ);
  ZEROGRAPH_EQUAL(CU_STREAM_WRITE_VALUE_DEFAULT);
  ZEROGRAPH_EQUAL(CU_EVENT_DEFAULT);
  ZEROGRAPH_EQUAL(CU_EVENT_DISABLE_TIMING);
  ZEROGRAPH_EQUAL(CU_JIT_ERROR_LOG_BUFFER);
  ZEROGRAPH_EQUAL(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
  ZEROGRAPH_EQUAL(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  ZEROGRAPH_EQUAL(CU_MEM_ALLOCATION_TYPE_PINNED);
  ZEROGRAPH_EQUAL(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  ZEROGRAPH_EQUAL(CU_MEM_HANDLE_TYPE_FABRIC);
  ZEROGRAPH_EQUAL(CU_MEM_LOCATION_TYPE_DEVICE);
  ZEROGRAPH_EQUAL(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  ZEROGRAPH_EQUAL(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
}

#define ZEROGRAPH_PLACE(type, field)                                           \
  EXPECT_EQ(offsetof(zerograph::type, field), offsetof(::type, field))

TEST(CudaHeader, Structures) {
  EXPECT_EQ(sizeof(zerograph::CUuuid), sizeof(::CUuuid));
  EXPECT_EQ(sizeof(zerograph::CUmemAllocationProp),
            sizeof(::CUmemAllocationProp));
  ZEROGRAPH_PLACE(CUmemAllocationProp, type);
  ZEROGRAPH_PLACE(CUmemAllocationProp, requestedHandleTypes);
  ZEROGRAPH_PLACE(CUmemAllocationProp, location);
  ZEROGRAPH_PLACE(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
  EXPECT_EQ(sizeof(zerograph::CUmemAccessDesc), sizeof(::CUmemAccessDesc));
  ZEROGRAPH_PLACE(CUmemAccessDesc, flags);
  ZEROGRAPH_PLACE(CUmemLocation, id);
}

} // namespace

#else

TEST(CudaHeader, Functions) {
  GTEST_SKIP() << "there is no cuda.h in /usr/local/cuda/include: a CUDA "
                  "toolkit has it";
}

#endif
