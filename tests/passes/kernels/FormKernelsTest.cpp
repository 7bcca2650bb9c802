//===- FormKernelsTest.cpp - kernels compute what the ops did -------------===//

#include "passes/kernels/Passes.h"
#include "tests/passes/kernels/RandomGraph.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// The function's results for fixed arguments, which have types of its own
/// context.
std::vector<Tensor> resultsOf(nn::ProgramOp func) {
  std::vector<Tensor> arguments;
  for (Type type : func.getArgumentTypes()) {
    arguments.push_back(randomTensor(type, arguments.size() + 1, -2, 4));
  }
  return evaluate(func, arguments);
}

/// Bit by bit, so that NaNs and zeros count.
void expectSame(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].shape == b[i].shape);
    ASSERT_EQ(a[i].values.size(), b[i].values.size());
    EXPECT_EQ(std::memcmp(a[i].values.data(), b[i].values.data(),
                          a[i].values.size() * sizeof(double)),
              0)
        << "result " << i;
  }
}

class RandomKernels : public ::testing::TestWithParam<unsigned> {};

// Forming kernels, eliding their copies and joining some change no bit of any
// result, and leave what they promise.
TEST_P(RandomKernels, KeepsEveryBit) {
  for (unsigned seed = GetParam() * 100; seed < GetParam() * 100 + 100;
       ++seed) {
    std::string text = randomGraph(seed, 8 + seed % 50);
    Program before(text), after(text);
    ASSERT_TRUE(before.ok()) << before.diagnostics() << text;
    ASSERT_TRUE(succeeded(after.run(nn::createFormKernels())))
        << after.diagnostics() << text;
    ASSERT_TRUE(succeeded(after.run(nn::createElideCopies())))
        << after.diagnostics() << text;
    ASSERT_TRUE(succeeded(after.run(nn::createStoreBesideColumns())))
        << after.diagnostics() << text;
    ASSERT_TRUE(succeeded(after.run(nn::createVerifyKernels())))
        << after.diagnostics() << text << after.text();
    expectSame(resultsOf(before.function("random")),
               resultsOf(after.function("random")));
    if (HasFailure()) {
      FAIL() << "seed " << seed << "\n" << text << after.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKernels, ::testing::Range(0u, 10u));

size_t countKernels(nn::ProgramOp program) {
  return llvm::range_size(program.getOps<nn::KernelOp>());
}

// The test above joins kernels, too.
TEST(StoreBesideColumns, JoinsKernelsOfRandomPrograms) {
  size_t joined = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Program program(randomGraph(seed, 8 + seed % 50));
    ASSERT_TRUE(succeeded(program.run(nn::createFormKernels())));
    size_t apart = countKernels(program.function("random"));
    ASSERT_TRUE(succeeded(program.run(nn::createStoreBesideColumns())));
    joined += apart - countKernels(program.function("random"));
  }
  EXPECT_GT(joined, 0u);
}

// Products are the same with flags as with transposed operands.
TEST(SimplifyMatmul, KeepsValues) {
  const char *text = R"(
nn.program @f(%q: tensor<2x5x3x4xf32>, %k: tensor<2x5x3x4xf32>,
             %w: tensor<4x6xf32>) -> (tensor<6x5x5xf32>, tensor<6x20xf32>) {
  %0 = nn.transpose %q [0, 2, 1, 3] : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %1 = nn.reshape %0 : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
  %2 = nn.transpose %k [0, 2, 3, 1] : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
  %3 = nn.reshape %2 : tensor<2x3x4x5xf32> -> tensor<6x4x5xf32>
  %4 = nn.matmul %1, %3 : tensor<6x5x4xf32>, tensor<6x4x5xf32> -> tensor<6x5x5xf32>
  %5 = nn.reshape %w : tensor<4x6xf32> -> tensor<1x4x6xf32>
  %6 = nn.broadcast %5 : tensor<1x4x6xf32> -> tensor<5x4x6xf32>
  %7 = nn.slice %q [0, 0, 0, 0] step [1, 1, 1, 1] : tensor<2x5x3x4xf32> -> tensor<1x5x3x4xf32>
  %8 = nn.slice %7 [0, 0, 0, 0] step [1, 1, 1, 1] : tensor<1x5x3x4xf32> -> tensor<1x5x1x4xf32>
  %9 = nn.broadcast %8 : tensor<1x5x1x4xf32> -> tensor<1x5x4x4xf32>
  %10 = nn.reshape %9 : tensor<1x5x4x4xf32> -> tensor<5x4x4xf32>
  %11 = nn.matmul %10, %6 : tensor<5x4x4xf32>, tensor<5x4x6xf32> -> tensor<5x4x6xf32>
  %12 = nn.reshape %11 : tensor<5x4x6xf32> -> tensor<20x6xf32>
  %13 = nn.reshape %w : tensor<4x6xf32> -> tensor<6x4xf32>
  %14 = nn.matmul %12, %13 : tensor<20x6xf32>, tensor<6x4xf32> -> tensor<20x4xf32>
  %15 = nn.matmul %14, %w : tensor<20x4xf32>, tensor<4x6xf32> -> tensor<20x6xf32>
  %16 = nn.transpose %15 [1, 0] : tensor<20x6xf32> -> tensor<6x20xf32>
  nn.return %4, %16 : tensor<6x5x5xf32>, tensor<6x20xf32>
})";
  Program before(text), after(text);
  ASSERT_TRUE(before.ok()) << before.diagnostics();
  ASSERT_TRUE(succeeded(after.run(nn::createSimplifyMatmul())));
  expectSame(resultsOf(before.function("f")), resultsOf(after.function("f")));
  EXPECT_NE(after.text().find("transpose_a"), std::string::npos);
  EXPECT_NE(after.text().find("transpose_b"), std::string::npos);
}

} // namespace
