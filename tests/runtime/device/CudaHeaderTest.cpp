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

#include <string>

namespace {

template <typename One, typename Other>
constexpr bool same() {
  return sizeof(One) == sizeof(Other) &&
         std::is_pointer_v<One> == std::is_pointer_v<Other>;
}

template <typename R, typename... A, typename S, typename... B>
constexpr bool sameShape(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return same<R, S>() && (same<A, B>() && ...);
  }
  return false;
}

#define ZEROGRAPH_TEXT(name) #name
#define ZEROGRAPH_SAME(name, symbol, ...)                                      \
  {                                                                            \
    zerograph::CudaApi api = {};                                               \
    EXPECT_TRUE(sameShape(api.name, decltype (&::name)(nullptr))) << #name;    \
    std::string means = ZEROGRAPH_TEXT(name);                                  \
    EXPECT_TRUE(means == symbol || means == kNewer) << means << " " << symbol; \
  }

TEST(CudaHeader, Functions) {
  // Of later headers; what it replaces is there in every driver.
  const std::string kNewer = "cuEventElapsedTime_v2";
  ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_SAME)
}

#define ZEROGRAPH_EQUAL(name)                                                  \
  EXPECT_EQ(int64_t(zerograph::name), int64_t(::name))

TEST(CudaHeader, Constants) {
  ZEROGRAPH_EQUAL(CUDA_SUCCESS);
  ZEROGRAPH_EQUAL(CUDA_ERROR_OUT_OF_MEMORY);
  ZEROGRAPH_EQUAL(CUDA_ERROR_NO_DEVICE);
  ZEROGRAPH_EQUAL(CU_STREAM_NON_BLOCKING);
  ZEROGRAPH_EQUAL(CU_EVENT_DEFAULT);
  ZEROGRAPH_EQUAL(CU_EVENT_DISABLE_TIMING);
  ZEROGRAPH_EQUAL(CU_JIT_ERROR_LOG_BUFFER);
  ZEROGRAPH_EQUAL(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  ZEROGRAPH_EQUAL(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

} // namespace

#else

TEST(CudaHeader, Functions) {
  GTEST_SKIP() << "there is no cuda.h in /usr/local/cuda/include: a CUDA "
                  "toolkit has it";
}

#endif
