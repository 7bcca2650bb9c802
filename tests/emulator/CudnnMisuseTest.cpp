//===- CudnnMisuseTest.cpp - what a real library may get away with --------===//

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/CudnnConvolution.h"
#include "tests/emulator/Cudnn.h"
#include "tests/support/ConvolutionCase.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace zerograph;
using namespace zerograph::emulator;
using ::testing::HasSubstr;

namespace {

/// A convolution whose tensors of some 6 KB each lie 64 KB apart.
class CudnnMisuse : public ::testing::Test {
protected:
  static constexpr uint64_t kApart = 1 << 16;

  void SetUp() override {
    auto context = CudaContext::open(driver, 0);
    ASSERT_TRUE(context.ok()) << context.status();
    for (CUstream &stream : streams) {
      ASSERT_EQ(
          driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
          0);
    }
    auto made = makeGpuMemory(*context, 8 * kApart);
    ASSERT_TRUE(made.ok()) << made.status();
    owned = std::move(*made);
    memory = owned->address();
    driver.cuMemsetD32(memory, 0x3f9ddddd, 2 * kApart);
    driver.cuStreamSynchronize(nullptr);
    ASSERT_EQ(api.cudnnCreate(&handle), 0);
    makeConvolution(kApart);
  }
  void makeConvolution(uint64_t workspace) {
    ConvolutionKind kind;
    kind.shape = zerograph::testing::convolutionShapes()[0].convolution(
        plan::CONVOLVE, plan::F32);
    kind.workspace = workspace;
    auto created = CudnnConvolution::create({api, handle, nullptr}, kind);
    ASSERT_TRUE(created.ok()) << created.status();
    convolution = std::move(*created);
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
  void expectComplaint(const char *what) {
    for (CUstream stream : streams) {
      driver.cuStreamSynchronize(stream);
    }
    EXPECT_THAT(gpu.complaint(), HasSubstr(what));
  }
  CudnnDescriptor make(int type) {
    auto made = CudnnDescriptor::create(api, type);
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }
  /// All of a tensor's attributes but its strides.
  CudnnDescriptor tensor() {
    CudnnDescriptor made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    EXPECT_TRUE(made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {1}).ok());
    EXPECT_TRUE(made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
                         CUDNN_DATA_FLOAT)
                    .ok());
    EXPECT_TRUE(made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16}).ok());
    EXPECT_TRUE(made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, {1, 2, 3, 4}).ok());
    return made;
  }

  Gpu gpu{1};
  emulator::Cudnn library{gpu};
  const CudaApi &driver = **cudaApi();
  const CudnnApi &api = **cudnnApi();
  std::unique_ptr<CudaMemory> owned;
  CUstream streams[2] = {};
  CUdeviceptr memory = 0;
  cudnnHandle_t handle = nullptr;
  std::unique_ptr<CudnnConvolution> convolution;
  std::vector<CudnnDescriptor> packs;
};

TEST_F(CudnnMisuse, WhatIsRightIsNone) {
  EXPECT_TRUE(execute().ok());
  expectComplaint("");
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(library.convolutions(), 1u);
  EXPECT_THAT(library.leftovers(), HasSubstr("1 handles, "));
}

TEST_F(CudnnMisuse, AnAttributeThatIsMissing) {
  CudnnDescriptor made = tensor();
  EXPECT_FALSE(made.finalize().ok());
  expectComplaint("is finalized without attribute 903");
}

TEST_F(CudnnMisuse, AnAttributeOfAnotherType) {
  EXPECT_FALSE(
      tensor().set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_DATA_TYPE, 1).ok());
  expectComplaint("attribute 903 is of type 3, and set to one of 1");
}

TEST_F(CudnnMisuse, AnAttributeOfAnotherCount) {
  EXPECT_FALSE(tensor().set(CUDNN_ATTR_TENSOR_STRIDES, {1, 1, 1}).ok());
  expectComplaint("has 4 to 5 values, and is set to 3");
}

TEST_F(CudnnMisuse, AnAttributeOfSomethingElse) {
  EXPECT_FALSE(tensor().set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {1}).ok());
  expectComplaint("descriptors of type 17 have no attribute 1301 to set");
}

TEST_F(CudnnMisuse, AnAttributeThatIsSetTooLate) {
  CudnnDescriptor made = tensor();
  EXPECT_TRUE(made.set(CUDNN_ATTR_TENSOR_STRIDES, {24, 12, 4, 1}).ok());
  EXPECT_TRUE(made.finalize().ok());
  EXPECT_FALSE(made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {2}).ok());
  expectComplaint("is set of a descriptor that is finalized");
}

TEST_F(CudnnMisuse, ADescriptorThatIsNotFinalized) {
  CudnnDescriptor operation =
      make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  EXPECT_FALSE(
      operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor()).ok());
  expectComplaint("that is not finalized");
}

TEST_F(CudnnMisuse, ADescriptorWhosePartsAreGone) {
  CudnnDescriptor operation =
      make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  {
    CudnnDescriptor part = tensor();
    EXPECT_TRUE(part.set(CUDNN_ATTR_TENSOR_STRIDES, {24, 12, 4, 1}).ok());
    EXPECT_TRUE(part.finalize().ok());
    EXPECT_TRUE(
        operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, part).ok());
  }
  EXPECT_FALSE(operation.finalize().ok());
  expectComplaint("or one made of such a one");
}

TEST_F(CudnnMisuse, ADescriptorDestroyedTwice) {
  CudnnDescriptor made = tensor();
  api.cudnnBackendDestroyDescriptor(made.get());
  EXPECT_NE(api.cudnnBackendDestroyDescriptor(made.get()), 0);
  expectComplaint("destroyed that is gone");
}

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

TEST_F(CudnnMisuse, StreamsThatNothingOrders) {
  EXPECT_TRUE(execute().ok());
  (void)execute(2, 4, 1); // which may see it
  expectComplaint("nothing puts the two in order");
}

TEST_F(CudnnMisuse, AWorkspaceOfTwoStreams) {
  EXPECT_TRUE(execute().ok());
  (void)execute(4, 3, 1); // which may see it
  expectComplaint("nothing puts the two in order");
}

TEST_F(CudnnMisuse, AThreadWithoutAContext) {
  driver.cuCtxSetCurrent(nullptr);
  EXPECT_FALSE(execute().ok());
  EXPECT_THAT(gpu.complaint(), HasSubstr("needs a context"));
}

TEST_F(CudnnMisuse, AKernelLoadedWhileAGraphIsRecorded) {
  ASSERT_EQ(driver.cuStreamBeginCapture(streams[0],
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            0);
  EXPECT_FALSE(execute().ok());
  EXPECT_THAT(gpu.complaint(), HasSubstr("would have to be loaded"));
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(streams[0], &graph), 0);
}

TEST_F(CudnnMisuse, InAGraphOnceItIsLoaded) {
  EXPECT_TRUE(execute().ok());
  ASSERT_EQ(driver.cuStreamBeginCapture(streams[0],
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            0);
  EXPECT_TRUE(execute().ok());
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(streams[0], &graph), 0);
  ASSERT_EQ(driver.cuGraphInstantiate(&executable, graph, 0), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(driver.cuGraphLaunch(executable, streams[0]), 0);
  }
  driver.cuStreamSynchronize(streams[0]);
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(library.convolutions(), 3u);
}

TEST_F(CudnnMisuse, AHandleUsedBesideARecording) {
  EXPECT_TRUE(execute().ok());
  ASSERT_EQ(driver.cuStreamBeginCapture(streams[0],
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            0);
  EXPECT_TRUE(execute().ok());
  EXPECT_FALSE(execute(4, 5, 1).ok());
  EXPECT_THAT(gpu.complaint(), HasSubstr("another stream records a graph"));
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(streams[0], &graph), 0);
}

TEST_F(CudnnMisuse, AHandleInTwoRecordings) {
  EXPECT_TRUE(execute().ok());
  for (CUstream stream : streams) {
    ASSERT_EQ(driver.cuStreamBeginCapture(stream,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              0);
  }
  EXPECT_TRUE(execute().ok());
  EXPECT_FALSE(execute(4, 5, 1).ok());
  EXPECT_THAT(gpu.complaint(), HasSubstr("another stream records a graph"));
  for (CUstream stream : streams) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), 0);
  }
}

TEST_F(CudnnMisuse, AHandleInOneRecordingAfterTheOther) {
  EXPECT_TRUE(execute().ok());
  for (CUstream stream : streams) {
    ASSERT_EQ(driver.cuStreamBeginCapture(stream,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              0);
    EXPECT_TRUE(execute(2, 3, stream == streams[1]).ok());
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), 0);
  }
  EXPECT_EQ(gpu.complaint(), "");
}

TEST_F(CudnnMisuse, ACallThatIsToFailDoes) {
  gpu.failCall("cudnnBackendExecute", 2);
  EXPECT_TRUE(execute().ok());
  EXPECT_THAT(std::string(execute().message()),
              HasSubstr("cudnnBackendExecute: made to fail"));
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_EQ(gpu.calls()["cudnnBackendExecute"], 2u);
}

} // namespace
