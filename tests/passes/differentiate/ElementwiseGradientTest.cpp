//===- ElementwiseGradientTest.cpp - rules of functions of elements -------===//

#include "tests/passes/differentiate/GradientCase.h"

#include <gtest/gtest.h>

using namespace mlir::zg::testing;

namespace {

GradientCase unary(const char *kind, double low, double high) {
  return {kind,
          {{"x", "2x3xf64", low, high}},
          std::string("%y = nn.unary ") + kind +
              " %x : tensor<2x3xf64> -> tensor<2x3xf64>",
          {{"%y", "2x3xf64"}}};
}

GradientCase binary(const char *kind, CaseArgument a, CaseArgument b) {
  return {kind,
          {a, b},
          std::string("%y = nn.binary ") + kind + " %a, %b : tensor<2x3xf64>",
          {{"%y", "2x3xf64"}}};
}

CaseArgument a(double low, double high) { return {"a", "2x3xf64", low, high}; }
CaseArgument b(double low, double high) { return {"b", "2x3xf64", low, high}; }

/// x to a constant power, for which the rule has shorter formulas.
GradientCase constantPower(const char *name, const char *exponent) {
  return {std::string("pow_") + name,
          {{"x", "2x3xf64", 0.5, 2}},
          std::string("%n = nn.constant dense<") + exponent +
              "> : tensor<2x3xf64>\n"
              "%y = nn.binary pow %x, %n : tensor<2x3xf64>",
          {{"%y", "2x3xf64"}}};
}

const GradientCase kCases[] = {
    unary("neg", -1, 1),
    unary("abs", 0.1, 1),
    unary("exp", -1, 1),
    unary("log", 0.5, 2),
    unary("log1p", -0.5, 2),
    unary("expm1", -2, 1),
    unary("sqrt", 0.5, 2),
    unary("reciprocal", 0.5, 2),
    unary("tanh", -2, 2),
    unary("sigmoid", -2, 2),
    unary("erf", -2, 2),
    unary("sin", -3, 3),
    unary("cos", -3, 3),
    {"abs_of_negative",
     {{"x", "4xf64", -1, -0.1}},
     "%y = nn.unary abs %x : tensor<4xf64> -> tensor<4xf64>",
     {{"%y", "4xf64"}}},
    // Steps: their gradient is zero, so what is left is the other path.
    {"steps",
     {{"x", "4xf64", 0.1, 0.4}},
     "%0 = nn.unary sign %x : tensor<4xf64> -> tensor<4xf64>\n"
     "%1 = nn.unary floor %x : tensor<4xf64> -> tensor<4xf64>\n"
     "%2 = nn.unary ceil %x : tensor<4xf64> -> tensor<4xf64>\n"
     "%3 = nn.unary round %x : tensor<4xf64> -> tensor<4xf64>\n"
     "%4 = nn.binary add %0, %1 : tensor<4xf64>\n"
     "%5 = nn.binary add %2, %3 : tensor<4xf64>\n"
     "%6 = nn.binary add %4, %5 : tensor<4xf64>\n"
     "%y = nn.binary mul %6, %x : tensor<4xf64>",
     {{"%y", "4xf64"}}},
    binary("add", a(-1, 1), b(-1, 1)),
    binary("sub", a(-1, 1), b(-1, 1)),
    binary("mul", a(-1, 1), b(-1, 1)),
    binary("div", a(-1, 1), b(0.5, 2)),
    binary("max", a(-1, 1), b(-1, 1)),
    binary("min", a(-1, 1), b(-1, 1)),
    binary("pow", a(0.5, 2), b(-2, 2)),
    binary("cross_entropy", a(0.1, 0.9), b(0, 1)),
    binary("mod", a(-3.4, -3.1), b(0.9, 1)),
    binary("rem", a(-3.4, -3.1), b(0.9, 1)),
    constantPower("1", "1.0"),
    constantPower("2", "2.0"),
    constantPower("3", "3.0"),
    constantPower("half", "0.5"),
    {"power_of_negative_base",
     {{"x", "4xf64", -2, -0.5}},
     "%n = nn.constant dense<3.0> : tensor<4xf64>\n"
     "%y = nn.binary pow %x, %n : tensor<4xf64>",
     {{"%y", "4xf64"}}},
    {"same_operand_twice",
     {{"x", "2x3xf64"}},
     "%y = nn.binary mul %x, %x : tensor<2x3xf64>",
     {{"%y", "2x3xf64"}}},
    {"select",
     {{"c", "2x3xi1", 0, 2}, {"a", "2x3xf64"}, {"b", "2x3xf64"}},
     "%y = nn.select %c, %a, %b : tensor<2x3xi1>, tensor<2x3xf64>",
     {{"%y", "2x3xf64"}}},
    // Rounding to f32 is noise of 6e-8, against a step of 1e-2.
    {"convert",
     {{"x", "2x3xf64"}},
     "%0 = nn.convert %x : tensor<2x3xf64> -> tensor<2x3xf32>\n"
     "%1 = nn.binary add %0, %0 : tensor<2x3xf32>\n"
     "%y = nn.convert %1 : tensor<2x3xf32> -> tensor<2x3xf64>",
     {{"%y", "2x3xf64"}},
     1e-2,
     1e-4},
};

class ElementwiseGradient : public ::testing::TestWithParam<GradientCase> {};

TEST_P(ElementwiseGradient, AgreesWithCentralDifferences) {
  checkGradients(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Rules, ElementwiseGradient,
                         ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
