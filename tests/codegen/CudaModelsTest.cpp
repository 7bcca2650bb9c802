//===- CudaModelsTest.cpp - every kernel of the models, on CUDA -----------===//
//
// The kernels of whole training steps, without any library: on the emulator
// they have the host's bits, and ptxas assembles them without spills.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/CudaRun.h"
#include "tests/codegen/Ptxas.h"
#include "tests/codegen/TrainingKernels.h"
#include "tools/cli/Ptxas.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <iostream>
#include <map>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// Model below models/, stage, ranks.
struct Case {
  std::string model;
  int64_t stage, ranks;
  std::map<std::string, int64_t> dims;
};

TrainingKernels kernelsOf(const Case &wanted) {
  zerograph::frontend::ImportOptions import;
  import.dims = wanted.dims;
  TrainingOptions options;
  options.user.zero_stage = wanted.stage;
  options.user.ranks = wanted.ranks;
  return TrainingKernels(std::string(ZEROGRAPH_MODELS) + "/" + wanted.model,
                         import, options);
}

class CudaModels : public ::testing::TestWithParam<Case> {};

TEST_P(CudaModels, KernelsHaveTheHostsBits) {
  TrainingKernels kernels = kernelsOf(GetParam());
  ASSERT_EQ(kernels.error(), "");
  expectHostsBits(kernels.ops());
}

class PtxasModels : public ::testing::TestWithParam<Case> {};

TEST_P(PtxasModels, AssembledWithoutSpills) {
  auto ptxas = zerograph::findPtxas();
  if (!ptxas.ok()) {
    GTEST_SKIP() << ptxas.status().message();
  }
  TrainingKernels kernels = kernelsOf(GetParam());
  ASSERT_EQ(kernels.error(), "");
  CudaKernels cuda(kernels.ops());
  ASSERT_TRUE(cuda.ok());
  for (const char *architecture : {"sm_80", "sm_90"}) {
    Assembly assembly = assemble(*ptxas, architecture, cuda.ptx(architecture));
    EXPECT_EQ(assembly.error, "");
    std::cout << architecture << ": " << assembly.summary() << "\n";
  }
  // Later ones take it as well.
  for (auto [architecture, later] :
       std::vector<std::pair<const char *, const char *>>{
           {"sm_80", "sm_86"},
           {"sm_80", "sm_89"},
           {"sm_90", "sm_90a"},
           {"sm_90", "sm_100"},
           {"sm_90", "sm_103"},
           {"sm_90", "sm_120"}}) {
    EXPECT_EQ(assemble(*ptxas, later, cuda.ptx(architecture)).error, "");
  }
}

const Case kModels[] = {
    {"mlp-digits/model.onnx", 0, 1, {{"batch", 8}}},
    {"gpt2-nano/model.onnx", 3, 2, {{"batch", 2}, {"seq", 16}}},
    {"gpt2-nano-dropout/model.onnx", 1, 2, {{"batch", 2}, {"seq", 16}}},
    {"resnet-mini/model.onnx", 0, 1, {{"batch", 2}}},
};
/// Too large to be run here.
const Case kStructures[] = {
    {"structure/gpt2-small.onnx", 3, 8, {{"batch", 4}, {"seq", 1024}}},
    {"structure/llama3-8b.onnx", 3, 8, {{"batch", 1}, {"seq", 2048}}},
};

std::string nameOf(const ::testing::TestParamInfo<Case> &info) {
  std::string name = info.param.model;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CudaModels, ::testing::ValuesIn(kModels), nameOf);
INSTANTIATE_TEST_SUITE_P(All, PtxasModels, ::testing::ValuesIn(kModels),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Large, PtxasModels, ::testing::ValuesIn(kStructures),
                         nameOf);

} // namespace
