//===- ConventionTest.cpp - gradients at kinks, as PyTorch has them -------===//

#include "passes/differentiate/Passes.h"
#include "passes/kernels/Passes.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zg::testing;

namespace {

using Numbers = std::vector<double>;

/// The gradients, one a line of `arguments`, of the sum of %y, which `body`
/// computes with type tensor<4xf64> from arguments of that type.
std::vector<Numbers> gradients(const std::vector<Numbers> &arguments,
                               const std::string &body) {
  std::string text = "nn.program @forward(";
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = i == 0 ? "a" : "b";
    text += (i == 0 ? "%" : ", %") + name +
            ": tensor<4xf64> {nn.parameter = #nn.parameter<\"" + name +
            "\", module = \"\", trainable = true, init = normal>}";
  }
  text += ") -> (tensor<1xf64> {nn.output = \"loss\"}) {\n" + body +
          "\n  %sum = nn.reduce sum %y [0] : tensor<4xf64> -> tensor<1xf64>\n"
          "  nn.return %sum : tensor<1xf64>\n}";
  Program program(text);
  if (!program.ok() || failed(program.run(zg::nn::createDifferentiate())) ||
      failed(program.run(zg::nn::createDecompose()))) {
    ADD_FAILURE() << program.diagnostics();
    return {};
  }
  zg::nn::ProgramOp micro = program.function(zg::nn::kMicroFunction);
  std::vector<Tensor> inputs;
  for (auto [type, values] : llvm::zip(micro.getArgumentTypes(), arguments)) {
    inputs.push_back(filled(type, 0));
    inputs.back().values = values;
  }
  std::vector<Numbers> results;
  for (Tensor &tensor : evaluate(micro, inputs)) {
    results.push_back(std::move(tensor.values));
  }
  results.erase(results.begin()); // the loss
  return results;
}

TEST(GradientConvention, MaximumSharesATie) {
  auto result = gradients({{1, 2, 3, -1}, {1, 3, 2, -1}},
                          "%y = nn.binary max %a, %b : tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({0.5, 0, 1, 0.5}));
  EXPECT_EQ(result[1], Numbers({0.5, 1, 0, 0.5}));
}

TEST(GradientConvention, MinimumSharesATie) {
  auto result = gradients({{1, 2, 3, -1}, {1, 3, 2, -1}},
                          "%y = nn.binary min %a, %b : tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({0.5, 1, 0, 0.5}));
  EXPECT_EQ(result[1], Numbers({0.5, 0, 1, 0.5}));
}

/// How the importer writes Relu: nothing passes at 0.
TEST(GradientConvention, SelectPassesWhatItChose) {
  auto result =
      gradients({{-1, 0, 1, 2}},
                "%0 = nn.constant dense<0.0> : tensor<4xf64>\n"
                "%1 = nn.compare le %a, %0 : tensor<4xf64> -> tensor<4xi1>\n"
                "%y = nn.select %1, %0, %a : tensor<4xi1>, tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({0, 0, 1, 1}));
}

TEST(GradientConvention, AbsIsFlatAtZero) {
  auto result = gradients(
      {{-2, 0, 0, 3}}, "%y = nn.unary abs %a : tensor<4xf64> -> tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({-1, 0, 0, 1}));
}

TEST(GradientConvention, ReducedMaximumIsSharedEvenly) {
  auto result =
      gradients({{5, 1, 5, 5}},
                "%0 = nn.reduce max %a [0] : tensor<4xf64> -> tensor<1xf64>\n"
                "%y = nn.broadcast %0 : tensor<1xf64> -> tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({4. / 3, 0, 4. / 3, 4. / 3}));
}

TEST(GradientConvention, ReducedExtremumGoesToTheFirst) {
  for (const char *kind : {"max", "min"}) {
    double sign = kind == std::string("max") ? 1 : -1;
    auto result =
        gradients({{sign, 5 * sign, 5 * sign, 5 * sign}},
                  std::string("%0 = nn.reduce ") + kind +
                      " %a [0] first : tensor<4xf64> -> tensor<1xf64>\n"
                      "%y = nn.broadcast %0 : tensor<1xf64> -> tensor<4xf64>");
    EXPECT_EQ(result[0], Numbers({0, 4, 0, 0}));
  }
}

/// The last of several dimensions is the fastest.
TEST(GradientConvention, ReducedExtremumOfAMatrix) {
  auto result = gradients(
      {{1, 7, 7, 2}}, "%0 = nn.reshape %a : tensor<4xf64> -> tensor<2x2xf64>\n"
                      "%1 = nn.reduce max %0 [0, 1] first : tensor<2x2xf64> -> "
                      "tensor<1x1xf64>\n"
                      "%2 = nn.reshape %1 : tensor<1x1xf64> -> tensor<1xf64>\n"
                      "%y = nn.broadcast %2 : tensor<1xf64> -> tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({0, 4, 0, 0}));
}

/// The product of the others, whatever is zero.
TEST(GradientConvention, ProductWithZeros) {
  const char *body =
      "%0 = nn.reduce prod %a [0] : tensor<4xf64> -> tensor<1xf64>\n"
      "%1 = nn.constant dense<0.25> : tensor<1xf64>\n"
      "%2 = nn.binary mul %0, %1 : tensor<1xf64>\n"
      "%y = nn.broadcast %2 : tensor<1xf64> -> tensor<4xf64>";
  EXPECT_EQ(gradients({{1, 2, 3, 4}}, body)[0], Numbers({24, 12, 8, 6}));
  EXPECT_EQ(gradients({{1, 0, 3, 4}}, body)[0], Numbers({0, 12, 0, 0}));
  EXPECT_EQ(gradients({{1, 0, 3, 0}}, body)[0], Numbers({0, 0, 0, 0}));
}

TEST(GradientConvention, PowerOfZero) {
  // 0^2, 0^1, 0^0, 2^0: no infinity where an exponent is 0, no NaN from
  // 0 * log(0) for an exponent of 0 or more.
  auto result = gradients({{0, 0, 0, 2}, {2, 1, 0, 0}},
                          "%y = nn.binary pow %a, %b : tensor<4xf64>");
  EXPECT_EQ(result[0], Numbers({0, 1, 0, 0}));
  EXPECT_EQ(result[1], Numbers({0, 0, 0, std::log(2.0)}));
}

/// The maximum is subtracted before anything is rounded: beside 2^40 a double
/// has no more than 12 binary digits after the point.
TEST(GradientConvention, CrossEntropyForgetsACommonOffset) {
  auto result = gradients(
      {{0, 1, 2, 3}},
      "%offset = nn.constant dense<1.099511627776e12> : tensor<4xf64>\n"
      "%0 = nn.binary add %a, %offset : tensor<4xf64>\n"
      "%x = nn.reshape %0 : tensor<4xf64> -> tensor<1x4xf64>\n"
      "%label = nn.constant dense<2> : tensor<1x1xi64>\n"
      "%loss, %max, %log_sum = nn.softmax_cross_entropy %x, %label\n"
      "    : tensor<1x4xf64>, tensor<1x1xi64>\n"
      "    -> tensor<1x1xf64>, tensor<1x1xf64>, tensor<1x1xf64>\n"
      "%1 = nn.reshape %loss : tensor<1x1xf64> -> tensor<1xf64>\n"
      "%y = nn.broadcast %1 : tensor<1xf64> -> tensor<4xf64>");
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    sum += std::exp(i);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(result[0][i] / 4, std::exp(i) / sum - (i == 2), 1e-14) << i;
  }
}

} // namespace
