//===- CudnnTest.cpp - convolutions by cuDNN, on the emulated GPU ---------===//

#include "tests/emulator/Cudnn.h"
#include "tests/support/CudnnRun.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace zerograph;
using namespace zerograph::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

constexpr uint64_t kEnough = 1 << 20;

class CudnnTest : public ::testing::Test {
protected:
  /// The result of a run, under the schedule of a seed.
  std::vector<double> run(const OneConvolution &one, uint32_t seed = 1,
                          const std::string &file = "") {
    emulator::Gpu gpu(seed);
    std::string memory = one.memory();
    {
      emulator::Cudnn library(gpu);
      absl::Status status = runOn(one, memory, file);
      EXPECT_TRUE(status.ok()) << one.shape.name << ": " << status;
      EXPECT_EQ(library.convolutions(),
                2u); // when it is loaded, and in the run
      EXPECT_EQ(library.leftovers(), "");
      engines = library.engines();
    }
    EXPECT_EQ(gpu.complaint(), "") << one.shape.name;
    EXPECT_EQ(gpu.leftovers(), "");
    return one.result(memory);
  }

  absl::Status runOn(const OneConvolution &one, std::string &memory,
                     const std::string &file = "") {
    ZG_ASSIGN_OR_RETURN(choices, runCudnn(one, memory, file));
    return absl::OkStatus();
  }

  /// The error of a run.
  std::string refused(const OneConvolution &one, const std::string &file = "",
                      size_t version = 91900,
                      cudnnStatus_t engines = CUDNN_STATUS_SUCCESS) {
    emulator::Gpu gpu(1);
    emulator::Cudnn library(gpu, version);
    library.failEngines(engines);
    std::string memory = one.memory();
    absl::Status status = runOn(one, memory, file);
    EXPECT_EQ(library.leftovers(), "");
    EXPECT_EQ(gpu.leftovers(), "");
    EXPECT_EQ(gpu.complaint(), "");
    return std::string(status.message());
  }

  std::set<int64_t> engines; ///< that the last run used
  std::string choices;
  const ConvolutionShape &plain = convolutionShapes().front();
};

TEST_F(CudnnTest, AgreesWithLoops) {
  for (const ConvolutionShape &shape : convolutionShapes()) {
    for (plan::ConvolutionKind kind : kConvolutionKinds) {
      OneConvolution one(shape, kind, plan::F32, kEnough);
      EXPECT_LT(one.error(run(one)), 3e-6) << shape.name << " kind " << kind;
      OneConvolution wide(shape, kind, plan::F64);
      EXPECT_LT(wide.error(run(wide)), 1e-13) << shape.name << " kind " << kind;
      for (plan::ElementType half : {plan::BF16, plan::F16}) {
        OneConvolution narrow(shape, kind, half, kEnough);
        EXPECT_LT(narrow.error(run(narrow)), half == plan::BF16 ? 4e-3 : 5e-4)
            << shape.name << " kind " << kind;
      }
    }
  }
}

// The heuristic's first ones round, or have no order, others fail; then comes
// one that needs a workspace, and last those that always work.
TEST_F(CudnnTest, TheFirstEngineThatMayBeUsed) {
  run(OneConvolution(plain, plan::CONVOLVE, plan::F32, kEnough));
  EXPECT_THAT(engines, ElementsAre(30));
  run(OneConvolution(plain, plan::CONVOLVE));
  EXPECT_THAT(engines, ElementsAre(0));
  run(OneConvolution(plain, plan::CONVOLVE, plan::F32, kEnough, /*tf32=*/true));
  EXPECT_THAT(engines, ElementsAre(21));
  // Those of 16 bits multiply on tensor cores whatever the plan allows.
  run(OneConvolution(plain, plan::CONVOLVE, plan::BF16, kEnough));
  EXPECT_THAT(engines, ElementsAre(21));
}

TEST_F(CudnnTest, WhyNoEngineMayBeUsedIsSaid) {
  OneConvolution one(plain, plan::CONVOLVE);
  expectSays(refused(one, "", 91900, CUDNN_STATUS_INTERNAL_ERROR),
             "step 0 'conv'", "cuDNN 9.19.0 has no engine for it here",
             ": its sums are made in no fixed order; it multiplies on "
             "tensor cores",
             "; NVRTC compiles it; ",
             "; cudnnBackendFinalize: made to fail, or not supported "
             "(4000)",
             ". --convolution generated");
}

// Another engine would find no more of it.
TEST_F(CudnnTest, MemoryThatIsNotThereEndsTheLoad) {
  EXPECT_THAT(refused(OneConvolution(plain, plan::CONVOLVE), "", 91900,
                      CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED),
              AllOf(HasSubstr("(4004)"), Not(HasSubstr("has no engine"))));
}

TEST_F(CudnnTest, Tf32IfThePlanAllowsIt) {
  OneConvolution exact(plain, plan::CONVOLVE, plan::F32, kEnough);
  OneConvolution fast(plain, plan::CONVOLVE, plan::F32, kEnough, true);
  std::vector<double> result = run(fast);
  EXPECT_NE(run(exact), result);
  EXPECT_LT(fast.error(result), 1e-2);
}

TEST_F(CudnnTest, TheSameBitsUnderAllSchedules) {
  for (plan::ConvolutionKind kind : kConvolutionKinds) {
    OneConvolution one(plain, kind, plan::F32, kEnough);
    std::vector<double> first = run(one);
    for (uint32_t seed = 2; seed < 6; ++seed) {
      EXPECT_EQ(run(one, seed), first);
    }
  }
}

// Ranks compare the version, the GPU and what was chosen.
TEST_F(CudnnTest, ChoicesAreToldApart) {
  std::set<std::string> all;
  for (size_t version : {91900, 91901}) {
    for (uint64_t workspace : {uint64_t(0), kEnough}) {
      for (uint32_t seed : {1, 2}) {
        emulator::Gpu gpu(seed);
        emulator::Cudnn library(gpu, version);
        OneConvolution one(plain, plan::CONVOLVE, plan::F32, workspace);
        std::string memory = one.memory();
        ASSERT_TRUE(runOn(one, memory).ok());
        all.insert(choices);
      }
    }
  }
  EXPECT_EQ(all.size(), 4u);
  expectSays(*all.begin(), "cuDNN 9.19.0 on sm_80 with 4 "
                           "multiprocessors, algorithms ");
}

// But for those that end something, whose failure nobody is told.
TEST_F(CudnnTest, EveryCallThatFailsIsNamedAndLeavesNothing) {
  const std::set<std::string> kUntold = {"cudnnDestroy",
                                         "cudnnBackendDestroyDescriptor"};
  OneConvolution one(plain, plan::INPUT_GRADIENT, plan::F32, kEnough);
  std::map<std::string, uint64_t> calls;
  {
    emulator::Gpu gpu(1);
    emulator::Cudnn library(gpu);
    std::string memory = one.memory();
    ASSERT_TRUE(runOn(one, memory).ok());
    calls = gpu.calls();
  }
  int tried = 0;
  for (const auto &[function, count] : calls) {
    if (function.rfind("cudnn", 0) != 0 || kUntold.contains(function)) {
      continue;
    }
    for (uint64_t number : std::set<uint64_t>{1, count / 2 + 1, count}) {
      emulator::Gpu gpu(1);
      emulator::Cudnn library(gpu);
      gpu.failCall(function, number);
      std::string memory = one.memory();
      absl::Status status = runOn(one, memory);
      EXPECT_THAT(std::string(status.message()), HasSubstr(function)) << number;
      EXPECT_EQ(library.leftovers(), "") << function << " " << number;
      EXPECT_EQ(gpu.leftovers(), "") << function << " " << number;
      ++tried;
    }
  }
  EXPECT_GT(tried, 12);
}

// As the wheel for CUDA 13 is opened with a driver for CUDA 12, but not more.
TEST_F(CudnnTest, ALibraryThatDoesNotStart) {
  emulator::Gpu gpu(1);
  emulator::Cudnn library(gpu);
  gpu.failCall("cudnnCreate", 1);
  OneConvolution one(plain, plan::CONVOLVE);
  std::string memory = one.memory();
  expectSays(runOn(one, memory),
             "cudnnCreate: ", "emulated is for a newer CUDA than the driver",
             "pip install nvidia-cudnn-cu1",
             "or compile with --convolution generated");
}

TEST_F(CudnnTest, AnotherTypeIsRefused) {
  OneConvolution one(plain, plan::CONVOLVE);
  one.step->mutable_convolution()->set_element_type(plan::I32);
  expectSays(refused(one), "step 0 'conv'",
             "takes F32, F64, F16 and BF16, found I32");
}

TEST_F(CudnnTest, AnEnvironmentThatChangesConvolutionsIsRefused) {
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  std::string message = refused(OneConvolution(plain, plan::CONVOLVE));
  unsetenv("NVIDIA_TF32_OVERRIDE");
  expectSays(message, "NVIDIA_TF32_OVERRIDE=1", "how cuDNN computes");
}

class CudnnAlgorithms : public CudnnTest {
protected:
  std::string text() const { return zerograph::testing::contentOf(file); }
  /// The file that a run wrote, with another engine.
  void writeWith(const std::string &engine) {
    run(one, 1, file);
    std::string all = text();
    size_t at = all.find("  algorithm ");
    std::ofstream(file) << all.substr(0, at) << "  algorithm " << engine
                        << "\n";
  }

  zerograph::testing::Folder folder;
  std::string file = folder.path + "/algorithms";
  OneConvolution one{plain, plan::WEIGHTS_GRADIENT, plan::F32, kEnough};
};

TEST_F(CudnnAlgorithms, AreWrittenAndTakenAgain) {
  std::vector<double> chosen = run(one, 1, file);
  std::string written = text();
  expectSays(written, "library cuDNN 9.19.0\n",
             "gpu sm_80 with 4 multiprocessors\n",
             "convolution gradient of the weights f32 2 x 3 x 8 x 8 "
             "by 16 x 3 x 3 x 3 to 2 x 16 x 8 x 8, strides 1 1, low "
             "1 1, dilations 1 1, groups 1, without TF32, workspace "
             "1048576\n  algorithm engine 30, 2=4 12=2\n");
  EXPECT_EQ(run(one, 2, file), chosen);
  EXPECT_EQ(text(), written);
}

TEST_F(CudnnAlgorithms, AreThoseOfTheFile) {
  writeWith("engine 0");
  run(one, 1, file);
  EXPECT_THAT(engines, ElementsAre(0));
  expectSays(text(), "algorithm engine 0\n");
}

// None that the heuristic would have been refused for.
TEST_F(CudnnAlgorithms, ThatMayNotBeUsedAreRefused) {
  writeWith("engine 20");
  expectSays(refused(one, file), "step 0 'conv'",
             "its sums are made in no fixed order");
  const std::pair<const char *, const char *> kOthers[] = {
      {"engine 21, 2=1", "multiplies on tensor cores, in TF32"},
      {"engine 22", "transforms by Winograd"},
      {"engine 26", "needs a workspace of 1099511627776 bytes, the plan has "
                    "1048576"},
      {"engine 27", "NVRTC compiles it"},
      {"engine 31", "cannot be used: cudnnBackendFinalize"},
      {"engine 30, 2=9", "cudnnBackendFinalize"},
      {"engine 99", "cudnnBackendFinalize"},
      {"engine 30,2=4", "is no engine of cuDNN"}};
  for (const auto &[engine, why] : kOthers) {
    std::filesystem::remove(file);
    writeWith(engine);
    EXPECT_THAT(refused(one, file), HasSubstr(why)) << engine;
  }
}

TEST_F(CudnnAlgorithms, OfAnotherVersionOrPlanAreRefused) {
  run(one, 1, file);
  expectSays(refused(one, file, 91800), "was written for cuDNN 9.19.0",
             "here is cuDNN 9.18.0");
  expectSays(refused(OneConvolution(plain, plan::CONVOLVE), file),
             "written for another plan");
}

} // namespace
