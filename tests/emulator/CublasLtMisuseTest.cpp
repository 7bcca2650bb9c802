//===- CublasLtMisuseTest.cpp - what a real library may get away with -----===//

#include "runtime/device/cuda/CudaMemory.h"
#include "tests/emulator/CublasLt.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <set>

using namespace zerograph;
using namespace zerograph::emulator;
using ::testing::HasSubstr;

namespace {

/// C = A B of 32 x 64 x 32 numbers of f32, by the first algorithm of those that
/// the library names.
class CublasLtMisuse : public ::testing::Test {
protected:
  static constexpr uint64_t kSize = 32, kInner = 64;
  static constexpr uint64_t kBytes = kInner * kSize * 4;

  void SetUp() override {
    auto context = CudaContext::open(driver, 0);
    ASSERT_TRUE(context.ok()) << context.status();
    for (CUstream &stream : streams) {
      ASSERT_EQ(
          driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
          0);
    }
    auto made = makeGpuMemory(*context, 8 * kBytes);
    ASSERT_TRUE(made.ok()) << made.status();
    owned = std::move(*made);
    memory = owned->address();
    ASSERT_EQ(owned->allocated(), 8 * kBytes);
    driver.cuMemsetD32(memory, 0x3f9ddddd, 2 * kBytes);
    driver.cuStreamSynchronize(nullptr);
    ASSERT_EQ(api.cublasLtCreate(&handle), 0);
    ASSERT_EQ(api.cublasLtMatmulDescCreate(
                  &operation, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F),
              0);
    api.cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, kSize, kInner, kSize);
    api.cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, kInner, kSize, kInner);
    api.cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, kSize, kSize, kSize);
    api.cublasLtMatmulPreferenceCreate(&preference);
  }

  void set(int attribute, auto value) {
    EXPECT_EQ(api.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                       &value, sizeof(value)),
              0);
  }
  /// The first that can be used.
  cublasLtMatmulAlgo_t choose() {
    cublasLtMatmulHeuristicResult_t results[4] = {};
    int count = 0;
    EXPECT_EQ(api.cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, d, d,
                                                 preference, 4, results,
                                                 &count),
              0);
    for (int i = 0; i < count; ++i) {
      if (results[i].state == 0) {
        return results[i].algo;
      }
    }
    ADD_FAILURE() << "there is none";
    return {};
  }
  int multiply(const cublasLtMatmulAlgo_t &algorithm, uint64_t to = 2 * kBytes,
               uint64_t workspace = 0, uint64_t bytes = 0, int stream = 0) {
    const float one = 1, zero = 0;
    auto at = [&](uint64_t offset) {
      return reinterpret_cast<void *>(memory + offset);
    };
    return api.cublasLtMatmul(handle, operation, &one, at(0), a, at(kBytes), b,
                              &zero, at(to), d, at(to), d, &algorithm,
                              bytes ? at(workspace) : nullptr, bytes,
                              streams[stream]);
  }
  void expectComplaint(const char *what) {
    for (CUstream stream : streams) {
      driver.cuStreamSynchronize(stream);
    }
    EXPECT_THAT(gpu.complaint(), HasSubstr(what));
  }

  Gpu gpu{1};
  CublasLt library{gpu};
  const CudaApi &driver = **cudaApi();
  const CublasLtApi &api = **cublasLtApi();
  std::unique_ptr<CudaMemory> owned;
  CUstream streams[2] = {};
  CUdeviceptr memory = 0;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
};

TEST_F(CublasLtMisuse, WhatIsRightIsNone) {
  EXPECT_EQ(multiply(choose()), 0);
  expectComplaint("");
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(library.products(), 1u);
  EXPECT_EQ(library.leftovers(),
            "1 handles, 1 operations, 3 layouts, 1 preferences");
}

// A schedule that does not name the reduction schemes gets these.
TEST_F(CublasLtMisuse, SumsInAnyOrderDiffer) {
  std::set<std::string> results;
  cublasLtMatmulAlgo_t algorithm = choose();
  for (int i = 0; i < 20; ++i) {
    // Rounds otherwise in each order.
    for (uint64_t k = 0; k < kInner; ++k) {
      std::vector<float> column(kSize, k == 3 ? 1e7f : 0.1f * float(k + 1));
      driver.cuMemcpyHtoD(memory + k * kSize * 4, column.data(), kSize * 4);
    }
    driver.cuStreamSynchronize(nullptr);
    EXPECT_EQ(multiply(algorithm), 0);
    driver.cuStreamSynchronize(streams[0]);
    std::string result(kSize * kSize * 4, 0);
    driver.cuMemcpyDtoH(result.data(), memory + 2 * kBytes, result.size());
    results.insert(result);
  }
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_GT(results.size(), 1u);
}

TEST_F(CublasLtMisuse, ADescriptorThatIsGone) {
  cublasLtMatmulAlgo_t algorithm = choose();
  api.cublasLtMatrixLayoutDestroy(b);
  EXPECT_NE(multiply(algorithm), 0);
  expectComplaint("a descriptor that is gone");
}

TEST_F(CublasLtMisuse, ADescriptorDestroyedTwice) {
  api.cublasLtMatmulDescDestroy(operation);
  EXPECT_NE(api.cublasLtMatmulDescDestroy(operation), 0);
  expectComplaint("destroyed that is gone");
}

TEST_F(CublasLtMisuse, SizesThatDoNotFit) {
  std::swap(a, b);
  EXPECT_NE(multiply({}), 0);
  expectComplaint("sizes do not fit");
}

TEST_F(CublasLtMisuse, AnAlgorithmOfAnotherProduct) {
  cublasLtMatmulAlgo_t algorithm = choose();
  int32_t count = 2;
  int64_t stride = kSize * kInner;
  for (cublasLtMatrixLayout_t layout : {a, b, d}) {
    api.cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    api.cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
        sizeof(stride));
  }
  EXPECT_NE(multiply(algorithm), 0);
  expectComplaint("an algorithm of another product");
}

TEST_F(CublasLtMisuse, AnAttributeOfAnotherSize) {
  int64_t wide = 1;
  EXPECT_NE(api.cublasLtMatmulDescSetAttribute(
                operation, CUBLASLT_MATMUL_DESC_TRANSA, &wide, sizeof(wide)),
            0);
  expectComplaint("is set to 8 bytes, and has 4");
}

TEST_F(CublasLtMisuse, AnOperandAlignedWorse) {
  EXPECT_NE(multiply(choose(), 2 * kBytes + 64), 0);
  expectComplaint("begins at no multiple of 256");
}

TEST_F(CublasLtMisuse, AnOperandThatIsWritten) {
  EXPECT_NE(multiply(choose(), kBytes), 0);
  expectComplaint("the result lies on an operand");
}

TEST_F(CublasLtMisuse, AWorkspaceThatIsTooSmallOrLiesOnAnOperand) {
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(2 * kBytes));
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  cublasLtMatmulAlgo_t algorithm = choose();
  EXPECT_EQ(multiply(algorithm, 2 * kBytes, 4 * kBytes, 2 * kBytes), 0);
  expectComplaint("");
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_NE(multiply(algorithm, 2 * kBytes, 4 * kBytes, kBytes / 2), 0);
  expectComplaint("the algorithm needs");
}

TEST_F(CublasLtMisuse, AWorkspaceThatLiesOnAnOperand) {
  EXPECT_NE(multiply(choose(), 2 * kBytes, kBytes, kBytes), 0);
  expectComplaint("the workspace lies on an operand");
}

TEST_F(CublasLtMisuse, StreamsThatNothingOrders) {
  cublasLtMatmulAlgo_t algorithm = choose();
  multiply(algorithm);
  multiply(algorithm, 2 * kBytes, 0, 0, 1);
  expectComplaint("nothing puts the two in order");
}

TEST_F(CublasLtMisuse, AWorkspaceOfTwoStreams) {
  cublasLtMatmulAlgo_t algorithm = choose();
  multiply(algorithm, 2 * kBytes, 4 * kBytes, 256);
  multiply(algorithm, 3 * kBytes, 4 * kBytes, 256, 1);
  expectComplaint("nothing puts the two in order");
}

TEST_F(CublasLtMisuse, BytesBeyondAnAllocation) {
  multiply(choose(), 8 * kBytes - 256);
  expectComplaint("not of one allocation");
}

TEST_F(CublasLtMisuse, AThreadWithoutAContext) {
  cublasLtMatmulAlgo_t algorithm = choose();
  driver.cuCtxSetCurrent(nullptr);
  EXPECT_NE(multiply(algorithm), 0);
  EXPECT_THAT(gpu.complaint(), HasSubstr("needs a context"));
}

TEST_F(CublasLtMisuse, AKernelLoadedWhileAGraphIsRecorded) {
  cublasLtMatmulAlgo_t algorithm = choose();
  ASSERT_EQ(driver.cuStreamBeginCapture(streams[0],
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            0);
  EXPECT_NE(multiply(algorithm), 0);
  EXPECT_THAT(gpu.complaint(), HasSubstr("would have to be loaded"));
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(streams[0], &graph), 0);
}

TEST_F(CublasLtMisuse, InAGraphOnceItIsLoaded) {
  cublasLtMatmulAlgo_t algorithm = choose();
  EXPECT_EQ(multiply(algorithm), 0);
  ASSERT_EQ(driver.cuStreamBeginCapture(streams[0],
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            0);
  EXPECT_EQ(multiply(algorithm), 0);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(streams[0], &graph), 0);
  ASSERT_EQ(driver.cuGraphInstantiate(&executable, graph, 0), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(driver.cuGraphLaunch(executable, streams[0]), 0);
  }
  driver.cuStreamSynchronize(streams[0]);
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(library.products(), 3u);
}

TEST_F(CublasLtMisuse, ACallThatIsToFailDoes) {
  gpu.failCall("cublasLtMatmul", 2);
  cublasLtMatmulAlgo_t algorithm = choose();
  EXPECT_EQ(multiply(algorithm), 0);
  EXPECT_NE(multiply(algorithm), 0);
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(gpu.calls()["cublasLtMatmul"], 2u);
}

} // namespace
