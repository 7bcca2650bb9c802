//===- FastMathTest.cpp - functions that a GPU approximates ---------------===//

#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> arguments() {
  std::vector<double> values = {0.0, -0.0, kInf, -kInf, 1e-6, -1e-3, 0.0157};
  for (double x = -85; x <= 85; x += 0.37) {
    values.push_back(x);
  }
  return values;
}

std::string unary(const std::string &function, const std::string &type) {
  return "nn.program @f(%x: " + type +
         ") {\n  %y = nn.kernel rows (%a = %x) : (" + type + ") -> (" + type +
         ") {\n    %r = nn.unary " + function + " %a : " + type + " -> " +
         type + "\n    nn.yield %r : " + type + "\n  }\n  nn.return\n}";
}

struct Function {
  const char *name;
  double (*value)(double);
};

class FastMathTest : public ::testing::TestWithParam<Function> {};

TEST_P(FastMathTest, IsWithinATenThousandth) {
  std::vector<double> x = arguments();
  std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  CompiledKernel compiled(unary(GetParam().name, type));
  ASSERT_TRUE(compiled.ok()) << compiled.diagnostics();
  CudaKernels kernels({compiled.kernel()}, /*tensorCores=*/false,
                      /*fastMath=*/true);
  ASSERT_TRUE(kernels.ok());
  auto result = mlir::cast<mlir::RankedTensorType>(
      compiled.kernel().getResult(0).getType());
  Tensor given{{int64_t(x.size())}, result.getElementType(), x};
  Tensor made = fromBytes(kernels.run(0, {toBytes(given)}).front(), result);
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = GetParam().value(float(x[i]));
    double got = made.values[i];
    if (std::isinf(expected) || expected == 0) {
      EXPECT_EQ(got, expected) << x[i];
    } else {
      EXPECT_NEAR(got / expected, 1, 1e-4) << x[i];
    }
  }
  for (const char *architecture : {"sm_80", "sm_90"}) {
    EXPECT_THAT(
        inexactLines(kernels.ptx(architecture)),
        ::testing::Each(::testing::ContainsRegex("(ex2|rcp)\\.approx")));
    EXPECT_THAT(inexactLines(kernels.ptx(architecture)),
                ::testing::Not(::testing::IsEmpty()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, FastMathTest,
    ::testing::Values(Function{"exp", [](double x) { return std::exp(x); }},
                      Function{"sigmoid",
                               [](double x) { return 1 / (1 + std::exp(-x)); }},
                      Function{"tanh", [](double x) { return std::tanh(x); }},
                      Function{"reciprocal", [](double x) { return 1 / x; }}),
    [](const auto &info) { return std::string(info.param.name); });

/// It approximates nothing else, and nothing of f64.
TEST(FastMath, LeavesOtherFunctions) {
  for (const auto &[function, type] :
       {std::pair("log", "tensor<8xf32>"), std::pair("sqrt", "tensor<8xf32>"),
        std::pair("exp", "tensor<8xf64>")}) {
    CompiledKernel compiled(unary(function, type));
    ASSERT_TRUE(compiled.ok()) << compiled.diagnostics();
    CudaKernels kernels({compiled.kernel()}, /*tensorCores=*/false,
                        /*fastMath=*/true);
    EXPECT_THAT(inexactLines(kernels.ptx("sm_90")), ::testing::IsEmpty());
  }
}

} // namespace
