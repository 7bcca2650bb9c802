//===- GradientCase.cpp - gradients against central differences -----------===//

#include "tests/passes/differentiate/GradientCase.h"

#include "passes/differentiate/Passes.h"
#include "passes/kernels/Passes.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"
#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::zg::testing;

namespace {

constexpr double kDecomposeTolerance = 1e-12;

/// "[0, 1]" for a type of rank 2.
std::string allDims(const std::string &type) {
  size_t rank = std::count(type.begin(), type.end(), 'x');
  return "[" +
         llvm::join(
             llvm::map_range(llvm::seq<size_t>(0, rank),
                             [](size_t dim) { return std::to_string(dim); }),
             ", ") +
         "]";
}

/// The type with every dimension 1.
std::string allOnes(const std::string &type) {
  size_t rank = std::count(type.begin(), type.end(), 'x');
  std::string ones;
  for (size_t i = 0; i < rank; ++i) {
    ones += "1x";
  }
  return ones + "f64";
}

std::string parameter(const std::string &name, const std::string &type,
                      bool trainable) {
  return "%" + name + ": tensor<" + type +
         "> {nn.parameter = #nn.parameter<\"" + name +
         "\", module = \"\", trainable = " + (trainable ? "true" : "false") +
         ", init = normal>}";
}

/// The lines that add the weighted results to one number, %loss.
std::string weightedSum(const std::vector<CaseResult> &results) {
  std::string text;
  for (auto [i, result] : llvm::enumerate(results)) {
    std::string n = std::to_string(i), ones = allOnes(result.type);
    text += "  %weighted" + n + " = nn.binary mul " + result.name + ", %w" + n +
            " : tensor<" + result.type + ">\n";
    text += "  %sum" + n + " = nn.reduce sum %weighted" + n + " " +
            allDims(result.type) + " : tensor<" + result.type + "> -> tensor<" +
            ones + ">\n";
    text += "  %scalar" + n + " = nn.reshape %sum" + n + " : tensor<" + ones +
            "> -> tensor<f64>\n";
    std::string loss = "%loss" + n;
    text += i == 0 ? "  " + loss +
                         " = nn.reshape %scalar0 : tensor<f64> -> "
                         "tensor<f64>\n"
                   : "  " + loss + " = nn.binary add %loss" +
                         std::to_string(i - 1) + ", %scalar" + n +
                         " : tensor<f64>\n";
  }
  return text;
}

std::string forwardText(const GradientCase &gradientCase,
                        const std::set<std::string> &frozen) {
  std::vector<std::string> arguments;
  for (const CaseArgument &argument : gradientCase.arguments) {
    if (argument.isFloat()) {
      arguments.push_back(parameter(argument.name, argument.type,
                                    !frozen.count(argument.name)));
    } else {
      arguments.push_back("%" + argument.name + ": tensor<" + argument.type +
                          "> {nn.input = #nn.input<\"" + argument.name +
                          "\", per_sample = false>}");
    }
  }
  for (auto [i, result] : llvm::enumerate(gradientCase.results)) {
    arguments.push_back(parameter("w" + std::to_string(i), result.type, false));
  }
  return "nn.program @forward(" + llvm::join(arguments, ", ") +
         ") -> (tensor<f64> {nn.output = \"loss\"}) {\n" + gradientCase.body +
         "\n" + weightedSum(gradientCase.results) + "  nn.return %loss" +
         std::to_string(gradientCase.results.size() - 1) +
         " : tensor<f64>\n}\n";
}

std::vector<Tensor> drawArguments(const GradientCase &gradientCase,
                                  zg::nn::ProgramOp func) {
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    bool weight = i >= gradientCase.arguments.size();
    double low = weight ? 0.5 : gradientCase.arguments[i].low;
    double high = weight ? 1.5 : gradientCase.arguments[i].high;
    arguments.push_back(randomTensor(type, 17 + i, low, high));
  }
  return arguments;
}

double lossAt(zg::nn::ProgramOp forward, ArrayRef<Tensor> arguments) {
  return evaluate(forward, arguments)[0].values[0];
}

Tensor centralDifferences(zg::nn::ProgramOp forward,
                          std::vector<Tensor> arguments, unsigned argument,
                          double step) {
  Tensor gradient = arguments[argument];
  for (size_t i = 0; i < gradient.values.size(); ++i) {
    double &x = arguments[argument].values[i];
    double center = x;
    x = center + step;
    double above = lossAt(forward, arguments);
    x = center - step;
    double below = lossAt(forward, arguments);
    x = center;
    gradient.values[i] = (above - below) / (2 * step);
  }
  return gradient;
}

void expectNear(const Tensor &actual, const Tensor &expected, double tolerance,
                const std::string &what) {
  ASSERT_EQ(actual.type(), expected.type()) << what;
  for (size_t i = 0; i < actual.values.size(); ++i) {
    EXPECT_NEAR(actual.values[i], expected.values[i],
                tolerance * (1 + std::fabs(expected.values[i])))
        << what << ", element " << i;
  }
}

} // namespace

void mlir::zg::testing::PrintTo(const GradientCase &gradientCase,
                                std::ostream *stream) {
  *stream << gradientCase.name;
}

void mlir::zg::testing::checkGradient(const GradientCase &gradientCase,
                                      const std::set<std::string> &frozen) {
  std::string text = forwardText(gradientCase, frozen);
  Program program(text);
  ASSERT_TRUE(program.ok()) << program.diagnostics() << text;
  zg::nn::ProgramOp forward = program.function(nn::kForwardFunction).clone();
  forward.setName("reference");
  program.getModule().push_back(forward);
  ASSERT_TRUE(succeeded(program.run(nn::createDifferentiate())))
      << program.diagnostics();
  EXPECT_EQ(program.diagnostics(), "");
  zg::nn::ProgramOp micro = program.function(nn::kMicroFunction);
  ASSERT_TRUE(micro) << program.text();

  std::vector<Tensor> arguments = drawArguments(gradientCase, forward);
  std::vector<Tensor> actual = evaluate(micro, arguments);
  EXPECT_EQ(actual[0].values[0], lossAt(forward, arguments));
  unsigned next = 1;
  for (auto [i, argument] : llvm::enumerate(gradientCase.arguments)) {
    if (!argument.isFloat() || frozen.count(argument.name)) {
      continue;
    }
    ASSERT_LT(next, actual.size());
    EXPECT_EQ(micro.getResultAttrOfType<StringAttr>(next, nn::kGradientAttr)
                  .getValue(),
              argument.name);
    expectNear(actual[next++],
               centralDifferences(forward, arguments, i, gradientCase.step),
               gradientCase.tolerance, "gradient of " + argument.name);
  }
  EXPECT_EQ(next, actual.size());

  ASSERT_TRUE(succeeded(program.run(nn::createDecompose())))
      << program.diagnostics();
  std::vector<Tensor> decomposed =
      evaluate(program.function(nn::kMicroFunction), arguments);
  for (auto [i, tensor] : llvm::enumerate(decomposed)) {
    expectNear(tensor, actual[i], kDecomposeTolerance,
               "decomposed result " + std::to_string(i));
  }
}

void mlir::zg::testing::checkGradients(const GradientCase &gradientCase) {
  checkGradient(gradientCase, {});
  unsigned parameters = 0;
  for (const CaseArgument &argument : gradientCase.arguments) {
    parameters += argument.isFloat();
  }
  for (const CaseArgument &argument : gradientCase.arguments) {
    if (argument.isFloat() && parameters > 1) {
      SCOPED_TRACE("with " + argument.name + " frozen");
      checkGradient(gradientCase, {argument.name});
    }
  }
}
