//===- CudnnTest.cpp - convolutions by cuDNN, on the emulated GPU ---------===//

#include "runtime/device/cuda/Cudnn.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/LibraryWorkspace.h"
#include "tests/emulator/Cudnn.h"
#include "tests/support/ConvolutionCase.h"

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

namespace {

constexpr uint64_t kEnough = 1 << 20;

/// A plan with one convolution. Its slices follow each other in one arena, in
/// the order of the accesses.
struct OneConvolution : ConvolutionCase {
  OneConvolution(const ConvolutionShape &shape, plan::ConvolutionKind kind,
                 plan::ElementType type = plan::F32, uint64_t workspace = 0,
                 bool tf32 = false)
      : ConvolutionCase(shape, kind, type) {
    plan.add_devices()->set_device("cuda");
    plan.mutable_devices(0)->set_allow_tf32(tf32);
    plan::Program &program = *plan.add_programs();
    program.set_name("step");
    step = program.add_steps();
    step->set_name("conv");
    *step->mutable_convolution() = convolution;
    plan.add_arenas()->set_alignment(64);
    for (int tensor : order()) {
      add(tensors[size_t(tensor)].size() * elementBytes());
    }
    if (workspace > 0) {
      add(workspace + kWorkspaceSlack);
    }
  }

  void add(uint64_t bytes) {
    plan::Slice &slice = *plan.add_slices();
    slice.set_offset(arena);
    slice.set_bytes(bytes);
    plan::Access &access = *step->add_accesses();
    access.set_slice(uint32_t(plan.slices_size() - 1));
    access.set_bytes(bytes);
    arena += (bytes + 63) / 64 * 64;
  }

  bool wide() const { return convolution.element_type() == plan::F64; }
  uint64_t elementBytes() const { return wide() ? 8 : 4; }
  uint64_t offset(int access) const { return plan.slices(access).offset(); }

  /// Operands; NaNs in the rest.
  std::string memory() const {
    std::string memory(arena, char(0xff));
    for (int access : {0, 1}) {
      const auto &values = tensors[size_t(order()[size_t(access)])];
      for (size_t i = 0; i < values.size(); ++i) {
        float narrow = float(values[i]);
        std::memcpy(memory.data() + offset(access) + i * elementBytes(),
                    wide() ? static_cast<const void *>(&values[i]) : &narrow,
                    elementBytes());
      }
    }
    return memory;
  }
  std::vector<double> result(const std::string &memory) const {
    std::vector<double> values(tensors[size_t(order()[2])].size());
    for (size_t i = 0; i < values.size(); ++i) {
      float narrow = 0;
      void *to = wide() ? static_cast<void *>(&values[i]) : &narrow;
      std::memcpy(to, memory.data() + offset(2) + i * elementBytes(),
                  elementBytes());
      values[i] = wide() ? values[i] : double(narrow);
    }
    return values;
  }

  plan::Plan plan;
  plan::Step *step = nullptr;
  uint64_t arena = 0;
};

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

  /// With the installed emulator.
  absl::Status runOn(const OneConvolution &one, std::string &memory,
                     const std::string &file = "") {
    const CudaApi &api = **cudaApi();
    ZG_ASSIGN_OR_RETURN(auto context, CudaContext::open(api, 0));
    ZG_ASSIGN_OR_RETURN(Algorithms algorithms, Algorithms::open(file));
    ZG_ASSIGN_OR_RETURN(auto library,
                        Cudnn::open(context, one.plan, algorithms));
    ZG_RETURN_IF_ERROR(algorithms.finish());
    choices = library->choices();
    ZG_ASSIGN_OR_RETURN(auto buffer,
                        makeCudaBuffer(context, plan::DEVICE, one.arena, 64));
    ZG_RETURN_IF_ERROR(buffer->write(0, memory.data(), memory.size()));
    StepBinding binding;
    binding.step = one.step;
    for (int i = 0; i < one.plan.slices_size(); ++i) {
      binding.ranges.push_back(
          {buffer.get(), one.offset(i), one.plan.slices(i).bytes()});
    }
    ZG_ASSIGN_OR_RETURN(auto operation, library->bind(binding));
    CUstream stream = nullptr;
    ZG_CUDA(api, cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING,
            0);
    absl::Status status = operation->issue({stream, 0});
    status.Update(cudaStatus(api, api.cuStreamSynchronize(stream),
                             "cuStreamSynchronize"));
    ZG_CUDA(api, cuStreamDestroy, stream);
    ZG_RETURN_IF_ERROR(status);
    return buffer->read(0, memory.data(), memory.size());
  }

  /// The error of a run.
  std::string refused(const OneConvolution &one, const std::string &file = "",
                      size_t version = 91900) {
    emulator::Gpu gpu(1);
    emulator::Cudnn library(gpu, version);
    std::string memory = one.memory();
    absl::Status status = runOn(one, memory, file);
    EXPECT_EQ(library.leftovers(), "");
    EXPECT_EQ(gpu.leftovers(), "");
    EXPECT_EQ(gpu.complaint(), "");
    return std::string(status.message());
  }

  std::set<int64_t> engines; ///< of the last run
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
    }
  }
}

// The heuristic's first ones round, or have no order; then comes one that needs
// a workspace, and last those that always work.
TEST_F(CudnnTest, TheFirstEngineThatMayBeUsed) {
  run(OneConvolution(plain, plan::CONVOLVE, plan::F32, kEnough));
  EXPECT_THAT(engines, ElementsAre(30));
  run(OneConvolution(plain, plan::CONVOLVE));
  EXPECT_THAT(engines, ElementsAre(0));
  run(OneConvolution(plain, plan::CONVOLVE, plan::F32, kEnough, /*tf32=*/true));
  EXPECT_THAT(engines, ElementsAre(21));
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

// What ranks compare: the version, the GPU and what was chosen.
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
  EXPECT_THAT(*all.begin(), HasSubstr("cuDNN 9.19.0 on sm_80 with 4 "
                                      "multiprocessors, algorithms "));
}

TEST_F(CudnnTest, AnotherTypeIsRefused) {
  OneConvolution one(plain, plan::CONVOLVE);
  one.step->mutable_convolution()->set_element_type(plan::BF16);
  EXPECT_THAT(refused(one), AllOf(HasSubstr("step 0 'conv'"),
                                  HasSubstr("takes F32 and F64, found BF16")));
}

TEST_F(CudnnTest, AnEnvironmentThatChangesConvolutionsIsRefused) {
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  std::string message = refused(OneConvolution(plain, plan::CONVOLVE));
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_THAT(message, AllOf(HasSubstr("NVIDIA_TF32_OVERRIDE=1"),
                             HasSubstr("how cuDNN computes")));
}

class CudnnAlgorithms : public CudnnTest {
protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "zerograph-algorithms-XXXXXX")
            .string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    file = folder + "/algorithms";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string text() const {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// The file that a run wrote, with another engine.
  void writeWith(const std::string &engine) {
    run(one, 1, file);
    std::string all = text();
    size_t at = all.find("  algorithm ");
    std::ofstream(file) << all.substr(0, at) << "  algorithm " << engine
                        << "\n";
  }

  std::string folder, file;
  OneConvolution one{plain, plan::WEIGHTS_GRADIENT, plan::F32, kEnough};
};

TEST_F(CudnnAlgorithms, AreWrittenAndTakenAgain) {
  std::vector<double> chosen = run(one, 1, file);
  std::string written = text();
  EXPECT_THAT(
      written,
      AllOf(HasSubstr("library cuDNN 9.19.0\n"),
            HasSubstr("gpu sm_80 with 4 multiprocessors\n"),
            HasSubstr("convolution gradient of the weights f32 2 x 3 x 8 x 8 "
                      "by 16 x 3 x 3 x 3 to 2 x 16 x 8 x 8, strides 1 1, low "
                      "1 1, dilations 1 1, groups 1, without TF32, workspace "
                      "1048576\n  algorithm engine 30, 2=4 12=2\n")));
  EXPECT_EQ(run(one, 2, file), chosen);
  EXPECT_EQ(text(), written);
}

TEST_F(CudnnAlgorithms, AreThoseOfTheFile) {
  writeWith("engine 0");
  run(one, 1, file);
  EXPECT_THAT(engines, ElementsAre(0));
  EXPECT_THAT(text(), HasSubstr("algorithm engine 0\n"));
}

// None that the heuristic would have been refused for.
TEST_F(CudnnAlgorithms, ThatMayNotBeUsedAreRefused) {
  writeWith("engine 20");
  EXPECT_THAT(refused(one, file),
              AllOf(HasSubstr("step 0 'conv'"),
                    HasSubstr("its sums are made in no fixed order")));
  const std::pair<const char *, const char *> kOthers[] = {
      {"engine 21, 2=1", "multiplies on tensor cores, in TF32"},
      {"engine 22", "transforms by Winograd"},
      {"engine 26", "needs a workspace of 1099511627776 bytes, the plan has "
                    "1048576"},
      {"engine 27", "NVRTC compiles it"},
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
  EXPECT_THAT(refused(one, file, 91800),
              AllOf(HasSubstr("was written for cuDNN 9.19.0"),
                    HasSubstr("here is cuDNN 9.18.0")));
  EXPECT_THAT(refused(OneConvolution(plain, plan::CONVOLVE), file),
              HasSubstr("written for another plan"));
}

} // namespace
