//===- ProductTest.cpp - cut products by cuBLASLt on this machine's GPU ---===//

#include <gtest/gtest.h>

#include "runtime/device/cuda/CublasLtApi.h"
#include "tests/support/CutProduct.h"

namespace zerograph::testing {
namespace {

TEST(GpuProduct, PartsAreTheWholeTogether) {
  for (const absl::Status &status :
       {cudaApi().status(), cublasLtApi().status()}) {
    if (!status.ok()) {
      GTEST_SKIP() << status.message();
    }
  }
  for (plan::ElementType type : {plan::F32, plan::BF16}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      auto error =
          errorOfParts(oddProduct(type, transposes & 1, transposes & 2));
      ASSERT_TRUE(error.ok()) << error.status();
      EXPECT_LT(*error, type == plan::F32 ? 1e-6 : 0.005) << transposes;
    }
  }
}

} // namespace
} // namespace zerograph::testing
