//===- LibraryMisuseTest.cpp - what a real library may get away with ------===//
//
// A wrong plan, or a runtime that binds it wrongly, reaches cuBLASLt and cuDNN
// with memory and streams that no GPU defines the result for.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/CudnnConvolution.h"
#include "tests/emulator/CublasLt.h"
#include "tests/emulator/Cudnn.h"
#include "tests/support/ConvolutionCase.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <set>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// Two streams, and eight places of memory, the first two of which are set.
class LibraryMisuse : public ::testing::Test {
protected:
  explicit LibraryMisuse(uint64_t place_bytes) : apart(place_bytes) {}

  void SetUp() override {
    auto context = CudaContext::open(driver, 0).value();
    for (CUstream &stream : streams) {
      ASSERT_EQ(
          driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
          0);
    }
    owned = makeGpuMemory(context, 8 * apart).value();
    memory = owned->address();
    driver.cuMemsetD32(memory, 0x3f9ddddd, 2 * apart);
    driver.cuStreamSynchronize(nullptr);
  }
  void expectComplaint(const char *what) {
    for (CUstream stream : streams) {
      driver.cuStreamSynchronize(stream);
    }
    expectSays(gpu.complaint(), what);
  }
  void record(CUstream stream) {
    ASSERT_EQ(driver.cuStreamBeginCapture(stream,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              0);
  }
  void endRecording(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), 0);
  }

  const uint64_t apart;
  Gpu gpu{1};
  const CudaApi &driver = **cudaApi();
  std::unique_ptr<CudaMemory> owned;
  CUstream streams[2] = {};
  CUdeviceptr memory = 0;
};

/// C = A B of 32 x 64 x 32 numbers of f32, by the first algorithm of those that
/// the library names.
class CublasLtMisuse : public LibraryMisuse {
protected:
  static constexpr uint64_t kSize = 32, kInner = 64;
  static constexpr uint64_t kBytes = kInner * kSize * 4;

  CublasLtMisuse() : LibraryMisuse(kBytes) {}
  void SetUp() override {
    LibraryMisuse::SetUp();
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

  emulator::CublasLt library{gpu};
  const CublasLtApi &api = **cublasLtApi();
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
};

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

TEST_F(CublasLtMisuse, AnOperandAlignedWorse) {
  EXPECT_NE(multiply(choose(), 2 * kBytes + 64), 0);
  expectComplaint("begins at no multiple of 256");
}

TEST_F(CublasLtMisuse, AnOperandThatIsWritten) {
  EXPECT_NE(multiply(choose(), kBytes), 0);
  expectComplaint("the result lies on an operand");
}

TEST_F(CublasLtMisuse, ABiasThatIsWritten) {
  uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  uint64_t bias = memory + 2 * kBytes;
  api.cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                     &epilogue, sizeof(epilogue));
  api.cublasLtMatmulDescSetAttribute(
      operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
  EXPECT_NE(multiply(choose()), 0);
  expectComplaint("or lies on what is written");
}

TEST_F(CublasLtMisuse, AWorkspaceThatIsTooSmall) {
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

TEST_F(CublasLtMisuse, AWorkspaceOfTwoStreams) {
  cublasLtMatmulAlgo_t algorithm = choose();
  multiply(algorithm, 2 * kBytes, 4 * kBytes, 256);
  multiply(algorithm, 3 * kBytes, 4 * kBytes, 256, 1);
  expectComplaint("nothing puts the two in order");
}

TEST_F(CublasLtMisuse, AKernelLoadedWhileAGraphIsRecorded) {
  cublasLtMatmulAlgo_t algorithm = choose();
  record(streams[0]);
  EXPECT_NE(multiply(algorithm), 0);
  expectSays(gpu.complaint(), "would have to be loaded");
  endRecording(streams[0]);
}

/// A convolution whose tensors of some 6 KB each lie 64 KB apart.
class CudnnMisuse : public LibraryMisuse {
protected:
  static constexpr uint64_t kApart = 1 << 16;

  CudnnMisuse() : LibraryMisuse(kApart) {}
  void SetUp() override {
    LibraryMisuse::SetUp();
    ASSERT_EQ(api.cudnnCreate(&handle), 0);
    ConvolutionKind kind;
    kind.shape = zerograph::testing::convolutionShapes()[0].convolution(
        plan::CONVOLVE, plan::F32);
    kind.workspace = kApart;
    convolution =
        CudnnConvolution::create({api, handle, nullptr}, kind).value();
    ASSERT_TRUE(convolution->choose().ok());
  }

  /// At these multiples of kApart; 0: no workspace.
  absl::Status execute(uint64_t result = 2, uint64_t workspace = 3,
                       int stream = 0, uint64_t shift = 0) {
    CUdeviceptr at[] = {memory + shift, memory + kApart,
                        memory + result * kApart};
    ZG_ASSIGN_OR_RETURN(
        auto pack,
        convolution->pack(at, workspace ? memory + workspace * kApart : 0));
    ZG_CUDNN(api, cudnnSetStream, handle, streams[stream]);
    absl::Status status = convolution->execute(pack);
    packs.push_back(std::move(pack));
    return status;
  }

  emulator::Cudnn library{gpu};
  const CudnnApi &api = **cudnnApi();
  cudnnHandle_t handle = nullptr;
  std::unique_ptr<CudnnConvolution> convolution;
  std::vector<CudnnDescriptor> packs;
};

TEST_F(CudnnMisuse, ATensorAlignedWorse) {
  EXPECT_FALSE(execute(2, 3, 0, /*shift=*/8).ok());
  expectComplaint("tensor 1 begins at no multiple of 16");
}

TEST_F(CudnnMisuse, AnOperandThatIsWritten) {
  EXPECT_FALSE(execute(1).ok());
  expectComplaint("the result lies on an operand");
}

TEST_F(CudnnMisuse, AWorkspaceThatIsNotThere) {
  EXPECT_FALSE(execute(2, 0).ok());
  expectComplaint("the engine needs a workspace");
}

TEST_F(CudnnMisuse, AWorkspaceThatLiesOnAnOperand) {
  EXPECT_FALSE(execute(2, 1).ok());
  expectComplaint("the workspace lies on a tensor");
}

TEST_F(CudnnMisuse, AWorkspaceOfTwoStreams) {
  EXPECT_TRUE(execute().ok());
  (void)execute(4, 3, 1); // which may see it
  expectComplaint("nothing puts the two in order");
}

TEST_F(CudnnMisuse, AKernelLoadedWhileAGraphIsRecorded) {
  record(streams[0]);
  EXPECT_FALSE(execute().ok());
  expectSays(gpu.complaint(), "would have to be loaded");
  endRecording(streams[0]);
}

TEST_F(CudnnMisuse, AHandleUsedBesideARecording) {
  EXPECT_TRUE(execute().ok());
  record(streams[0]);
  EXPECT_TRUE(execute().ok());
  EXPECT_FALSE(execute(4, 5, 1).ok());
  expectSays(gpu.complaint(), "another stream records a graph");
  endRecording(streams[0]);
}

TEST_F(CudnnMisuse, AHandleInOneRecordingAfterTheOther) {
  EXPECT_TRUE(execute().ok());
  for (CUstream stream : streams) {
    record(stream);
    EXPECT_TRUE(execute(2, 3, stream == streams[1]).ok());
    endRecording(stream);
  }
  EXPECT_EQ(gpu.complaint(), "");
}

} // namespace
