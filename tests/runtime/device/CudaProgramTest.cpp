//===- CudaProgramTest.cpp - a list issued to a GPU's queues --------------===//

#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/CudaMemory.h"
#include "tests/emulator/Gpu.h"
#include "tests/support/Says.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace zerograph {
namespace {

constexpr uint64_t kSteps = 1000;
/// About as many as a driver has room for.
constexpr size_t kRoom = 600;

/// Sets 64 bytes, and counts.
class Set final : public Operation {
public:
  Set(const CudaApi &api, CUdeviceptr at, uint64_t &issued)
      : api(api), at(at), issued(issued) {}
  absl::Status issue(const Issue &issue) override {
    ++issued;
    ZG_CUDA(api, cuMemsetD8Async, at, 1, 64,
            static_cast<CUstream>(issue.stream));
    return absl::OkStatus();
  }

private:
  const CudaApi &api;
  CUdeviceptr at;
  uint64_t &issued;
};

/// Many steps on one stream, one by one, on a GPU whose queues have room for
/// some.
class CudaProgramTest : public ::testing::Test {
protected:
  /// The first step awaits counts.
  void bind(std::chrono::milliseconds deadline,
            std::vector<CudaProgram::Count> awaits = {}) {
    gpu.limitQueues(kRoom);
    DeviceOptions options;
    options.graphs = Graphs::Off;
    options.deadline = deadline;
    const CudaApi &api = context->api;
    api.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    program.emplace(context, options, [](const absl::Status &, uint32_t) {});
    for (uint32_t number = 0; number < kSteps; ++number) {
      auto set = std::make_unique<Set>(api, memory->address(), issued);
      EXPECT_TRUE(program
                      ->add(stream, number, std::move(set), {},
                            std::exchange(awaits, {}))
                      .ok());
    }
    EXPECT_TRUE(program->seal().ok());
  }
  absl::Status run(uint32_t &step) {
    program->start(0);
    return program->finish(step);
  }

  emulator::Gpu gpu{1};
  std::shared_ptr<CudaContext> context = *CudaContext::open(**cudaApi(), 0);
  std::unique_ptr<CudaMemory> memory = *makeGpuMemory(context, 64);
  CUstream stream = nullptr;
  std::optional<CudaProgram> program;
  uint64_t issued = 0;
};

TEST_F(CudaProgramTest, IssuesAllAgainAndAgain) {
  bind(std::chrono::minutes(1));
  uint32_t step = 0;
  for (uint64_t runs : {1, 2}) {
    EXPECT_TRUE(run(step).ok());
    EXPECT_EQ(issued, runs * kSteps);
  }
  EXPECT_EQ(gpu.complaint(), "");
}

/// A step has done its work when it is passed on, and no later one has begun.
TEST_F(CudaProgramTest, EachStepIsPassedOn) {
  bind(std::chrono::minutes(1));
  uint64_t passed = 0;
  uint8_t first = 0;
  program->afterSteps([&](uint32_t place) -> absl::Status {
    EXPECT_EQ(place, passed++);
    EXPECT_EQ(issued, passed);
    ZG_CUDA(context->api, cuMemcpyDtoH, &first, memory->address(), 1);
    EXPECT_EQ(first, 1);
    return place == 7 ? absl::DataLossError("bad") : absl::OkStatus();
  });
  uint32_t step = 0;
  expectSays(run(step), "bad");
  EXPECT_EQ(step, 7u);
  EXPECT_EQ(passed, 8u);
  EXPECT_EQ(gpu.complaint(), "");
}

/// Awaits a count of another device, which comes to it or fails.
TEST_F(CudaProgramTest, AwaitsACountUnlessCancelled) {
  std::unique_ptr<CudaMemory> pinned = *makePinnedMemory(context, 64);
  std::atomic_ref<uint32_t> counter(
      *reinterpret_cast<uint32_t *>(pinned->address()));
  bind(std::chrono::minutes(1), {{pinned->address(), 5}});
  for (bool fails : {false, true}) {
    counter = 4;
    auto begin = std::chrono::steady_clock::now();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      fails ? program->cancel() : counter.store(5);
    });
    uint32_t step = 0;
    EXPECT_TRUE(run(step).ok());
    EXPECT_GE(std::chrono::steady_clock::now() - begin,
              std::chrono::milliseconds(50));
    other.join();
  }
  EXPECT_EQ(gpu.complaint(), "");
}

/// The driver would let the call wait for room, and that for ever.
TEST_F(CudaProgramTest, FillsNoQueueOfAGpuThatStalls) {
  bind(std::chrono::milliseconds(200));
  gpu.stall(100);
  uint32_t step = 0;
  expectSays(run(step), "the GPU finished nothing for 0.2 s");
  EXPECT_GT(step, 0u);
  EXPECT_LE(step, 100u);
  EXPECT_GT(issued, 256u);
  EXPECT_LT(issued, kRoom);
  EXPECT_EQ(gpu.complaint(), "");
  EXPECT_FALSE(context->enter().ok()) << "it is left alone";
}

} // namespace
} // namespace zerograph
