//===- CudaFailureTest.cpp - a GPU whose calls fail -----------------------===//
//
// Each function of the driver, of cuBLASLt and of cuDNN fails once, at its
// first and at its last call: the run ends with an error that names the call,
// and leaves nothing.
//
//===----------------------------------------------------------------------===//

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/Harness.h"
#include "tests/emulator/CublasLt.h"
#include "tests/emulator/Cudnn.h"

#include "runtime/plan/PlanFile.h"

#include "absl/strings/match.h"

#include <set>

namespace zerograph::testing {
namespace {

/// Calls that end something, whose failure nobody is told; and calls that tell
/// errors.
const std::set<std::string> kUntold = {"cuMemUnmap",
                                       "cuMemRelease",
                                       "cuMemAddressFree",
                                       "cuMemFreeHost",
                                       "cuModuleUnload",
                                       "cuStreamDestroy",
                                       "cuEventDestroy",
                                       "cuDevicePrimaryCtxRelease",
                                       "cuGraphDestroy",
                                       "cuGraphExecDestroy",
                                       "cuGetErrorName",
                                       "cuGetErrorString",
                                       "cublasLtDestroy",
                                       "cublasLtMatmulDescDestroy",
                                       "cublasLtMatrixLayoutDestroy",
                                       "cublasLtMatmulPreferenceDestroy",
                                       "cudnnDestroy",
                                       "cudnnBackendDestroyDescriptor",
                                       "cudnnGetErrorString",
                                       "cudnnGetVersion"};

/// Without its context nothing can be given back.
const std::set<std::string> kNeededToEnd = {"cuCtxSetCurrent"};

/// Asked for in another way then.
const std::set<std::string> kRetried = {"cuMemCreate"};

struct Case {
  const char *name, *model, *matmul, *convolution;
  /// Calls whose names begin so fail.
  const char *functions;
  bool offload = false;
};

void PrintTo(const Case &test, std::ostream *out) { *out << test.name; }

class CudaFailure : public ::testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    Training training{GetParam().model};
    training.matmul = GetParam().matmul;
    training.convolution = GetParam().convolution;
    training.target = "cuda:emulated";
    if (GetParam().offload) {
      training.also = [](CompileOptions &compile) {
        compile.offload_optimizer = "cpu";
      };
    }
    auto bytes = serializePlan(compilePlan(training)).value();
    loaded = parsePlan(bytes).value();
    options.steps = 2;
    options.data = {dataOf(training)};
    options.quiet = true;
    options.handle_interrupt = false;
    options.say = [](const std::string &) {};
  }

  void expectNamed(const std::string &function, uint64_t number) {
    emulator::Gpu gpu(1);
    emulator::CublasLt products(gpu);
    emulator::Cudnn convolutions(gpu);
    gpu.failCall(function, number);
    auto result = train(loaded, options);
    std::string what = function + " " + std::to_string(number);
    EXPECT_EQ(products.leftovers(), "") << what;
    EXPECT_EQ(convolutions.leftovers(), "") << what;
    ASSERT_FALSE(result.ok()) << what;
    EXPECT_THAT(std::string(result.status().message()),
                ::testing::HasSubstr(function))
        << what;
    EXPECT_EQ(gpu.leftovers(), "") << what;
  }

  LoadedPlan loaded;
  TrainOptions options;
};

TEST_P(CudaFailure, EveryCallIsNamedAndLeavesNothing) {
  std::map<std::string, uint64_t> calls;
  {
    emulator::Gpu gpu(1);
    emulator::CublasLt products(gpu);
    emulator::Cudnn convolutions(gpu);
    auto result = train(loaded, options);
    ASSERT_TRUE(result.ok()) << result.status();
    calls = gpu.calls();
  }
  size_t failed = 0;
  for (const auto &[function, count] : calls) {
    failed += absl::StartsWith(function, GetParam().functions);
    if (!absl::StartsWith(function, GetParam().functions) ||
        kUntold.contains(function) || kRetried.contains(function)) {
      continue;
    }
    expectNamed(function, 1);
    if (count > 1 && !kNeededToEnd.contains(function)) {
      expectNamed(function, count);
    }
  }
  EXPECT_GT(failed, 7u);
  EXPECT_EQ(calls.contains("cublasLtMatmul"),
            GetParam().matmul == std::string("library"));
}

/// Sandboxes refuse memory that other processes could open.
TEST_P(CudaFailure, MemoryThatCannotBeShared) {
  for (const std::string &function : kRetried) {
    emulator::Gpu gpu(1);
    emulator::CublasLt products(gpu);
    emulator::Cudnn convolutions(gpu);
    gpu.failCall(function, 1);
    auto result = train(loaded, options);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(gpu.leftovers(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaFailure,
    ::testing::Values(
        Case{"Generated", "mlp-digits", "generated", "generated", ""},
        Case{"CublasLt", "mlp-digits", "library", "generated", ""},
        Case{"Cudnn", "resnet-mini", "generated", "library", "cudnn"},
        Case{"Offload", "mlp-digits", "generated", "generated", "cuStream",
             /*offload=*/true}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace zerograph::testing
