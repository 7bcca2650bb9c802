//===- CudnnSharedTest.cpp - one cuDNN for the threads of a process -------===//

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/CudaGraph.h"
#include "runtime/device/cuda/Cudnn.h"
#include "tests/emulator/Cudnn.h"
#include "tests/support/CudnnRun.h"

#include "gtest/gtest.h"

#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

/// Threads with an arena, an operation and a stream each.
class CudnnShared : public ::testing::Test {
protected:
  struct Rank {
    std::unique_ptr<Buffer> buffer;
    std::unique_ptr<Operation> operation;
    CUstream stream = nullptr;
  };

  void SetUp() override {
    context = CudaContext::open(driver, 0).value();
    auto algorithms = Algorithms::open("").value();
    library = Cudnn::open(context, one.plan, algorithms).value();
    for (Rank &rank : ranks) {
      rank.buffer =
          makeCudaBuffer(context, plan::DEVICE, one.arena, 64).value();
      std::string memory = one.memory();
      ASSERT_TRUE(rank.buffer->write(0, memory.data(), memory.size()).ok());
      StepBinding binding;
      binding.step = one.step;
      for (int i = 0; i < one.plan.slices_size(); ++i) {
        binding.ranges.push_back(
            {rank.buffer.get(), one.offset(i), one.plan.slices(i).bytes()});
      }
      rank.operation = library->bind(binding).value();
      ASSERT_EQ(driver.cuStreamCreateWithPriority(&rank.stream,
                                                  CU_STREAM_NON_BLOCKING, 0),
                0);
    }
  }

  emulator::Gpu gpu{1};
  emulator::Cudnn emulated{gpu};
  const CudaApi &driver = **cudaApi();
  OneConvolution one{convolutionShapes().front(), plan::CONVOLVE};
  std::shared_ptr<CudaContext> context;
  std::unique_ptr<Cudnn> library;
  Rank ranks[3];
};

// While one records, another would begin to, and a third just convolves.
TEST_F(CudnnShared, ARecordingIsOfOneThread) {
  auto issue = [](Rank &rank) {
    return rank.operation->issue({rank.stream, 0});
  };
  auto record = [&](Rank &rank, const std::function<absl::Status()> &enqueue) {
    absl::Status entered = context->enter();
    EXPECT_TRUE(entered.ok()) << entered;
    auto graph = CudaGraph::record(context, rank.stream, enqueue);
    EXPECT_TRUE(graph.ok()) << graph.status();
  };
  std::vector<std::thread> others;
  record(ranks[0], [&] {
    ZG_RETURN_IF_ERROR(issue(ranks[0]));
    others.emplace_back(
        [&] { record(ranks[1], [&] { return issue(ranks[1]); }); });
    others.emplace_back([&] {
      absl::Status done = context->enter();
      done.Update(issue(ranks[2]));
      EXPECT_TRUE(done.ok()) << done;
    });
    // Time for them to do what they should not.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return issue(ranks[0]);
  });
  for (std::thread &other : others) {
    other.join();
  }
  EXPECT_EQ(driver.cuStreamSynchronize(ranks[2].stream), 0);
  EXPECT_EQ(gpu.complaint(), "");
}

// Ending a plan may wait for the GPU.
TEST_F(CudnnShared, AGpuThatDoesNotComeBackIsNotWaitedFor) {
  for (Rank &rank : ranks) {
    rank.operation = nullptr;
  }
  std::string before = emulated.leftovers();
  context->abandon();
  library = nullptr;
  EXPECT_EQ(emulated.leftovers(), before);
}

} // namespace
