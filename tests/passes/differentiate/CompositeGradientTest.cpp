//===- CompositeGradientTest.cpp - composites and whole models ------------===//

#include "tests/passes/differentiate/GradientCase.h"

#include <gtest/gtest.h>

using namespace mlir::zg::testing;

namespace {

/// Layer norm with a gradient to the results numbered.
GradientCase layerNorm(const char *name, std::vector<int> results) {
  GradientCase gradientCase = {
      std::string("layer_norm_") + name,
      {{"x", "2x3x4xf64"}, {"scale", "4xf64"}, {"bias", "4xf64"}},
      "%n:3 = nn.layer_norm %x, %scale, %bias epsilon 1.0e-3 : "
      "tensor<2x3x4xf64>, tensor<4xf64> -> tensor<2x3x1xf64>, "
      "tensor<2x3x1xf64>",
      {}};
  for (int result : results) {
    gradientCase.results.push_back({"%n#" + std::to_string(result),
                                    result == 0 ? "2x3x4xf64" : "2x3x1xf64"});
  }
  return gradientCase;
}

GradientCase crossEntropy(const char *name, std::vector<CaseResult> results) {
  // Labels from -1 to 4: both ends are outside the classes.
  return {std::string("softmax_cross_entropy_") + name,
          {{"x", "6x4xf64", -2, 2}, {"labels", "6x1xi64", -1, 5}},
          "%loss, %max, %log_sum = nn.softmax_cross_entropy %x, %labels : "
          "tensor<6x4xf64>, tensor<6x1xi64> -> tensor<6x1xf64>, "
          "tensor<6x1xf64>, tensor<6x1xf64>\n"
          "%lse = nn.binary add %max, %log_sum : tensor<6x1xf64>",
          std::move(results)};
}

/// One head of causal attention with a residual, a norm, tied embedding and
/// output weights, and cross entropy.
const char *const kTransformer = R"(
  %e = nn.gather %wte, %ids : tensor<7x4xf64>, tensor<5xi64> -> tensor<5x4xf64>
  %h = nn.binary add %e, %wpe : tensor<5x4xf64>
  %n, %mean, %rstd = nn.layer_norm %h, %scale, %bias epsilon 1.0e-5
      : tensor<5x4xf64>, tensor<4xf64> -> tensor<5x1xf64>, tensor<5x1xf64>
  %qkv = nn.matmul %n, %w : tensor<5x4xf64>, tensor<4x12xf64> -> tensor<5x12xf64>
  %q = nn.slice %qkv [0, 0] step [1, 1] : tensor<5x12xf64> -> tensor<5x4xf64>
  %k = nn.slice %qkv [0, 4] step [1, 1] : tensor<5x12xf64> -> tensor<5x4xf64>
  %v = nn.slice %qkv [0, 8] step [1, 1] : tensor<5x12xf64> -> tensor<5x4xf64>
  %scores = nn.matmul %q, %k transpose_b : tensor<5x4xf64>, tensor<5x4xf64> -> tensor<5x5xf64>
  %row = nn.iota 0 : tensor<5x5xi64>
  %col = nn.iota 1 : tensor<5x5xi64>
  %seen = nn.compare ge %row, %col : tensor<5x5xi64> -> tensor<5x5xi1>
  %hidden = nn.constant dense<-1.0e4> : tensor<5x5xf64>
  %masked = nn.select %seen, %scores, %hidden : tensor<5x5xi1>, tensor<5x5xf64>
  %p = nn.softmax %masked : tensor<5x5xf64>
  %mix = nn.matmul %p, %v : tensor<5x5xf64>, tensor<5x4xf64> -> tensor<5x4xf64>
  %out = nn.binary add %h, %mix : tensor<5x4xf64>
  %logits = nn.matmul %out, %wte transpose_b : tensor<5x4xf64>, tensor<7x4xf64> -> tensor<5x7xf64>
  %loss, %max, %log_sum = nn.softmax_cross_entropy %logits, %labels
      : tensor<5x7xf64>, tensor<5x1xi64>
      -> tensor<5x1xf64>, tensor<5x1xf64>, tensor<5x1xf64>
  %lse = nn.binary add %max, %log_sum : tensor<5x1xf64>
)";

/// Rows without an element, as attention has them where all is masked: their
/// softmax is not a number, and exporters put zeros in its place.
const char *const kMaskedSoftmax = R"(
  %row = nn.iota 0 : tensor<3x4xi64>
  %col = nn.iota 1 : tensor<3x4xi64>
  %hidden = nn.compare ge %row, %col : tensor<3x4xi64> -> tensor<3x4xi1>
  %one = nn.constant dense<1> : tensor<3x4xi64>
  %is_one = nn.compare eq %row, %one : tensor<3x4xi64> -> tensor<3x4xi1>
  %masked = nn.binary logical_or %hidden, %is_one : tensor<3x4xi1>
  %infinite = nn.constant dense<0xFFF0000000000000> : tensor<3x4xf64>
  %zero = nn.constant dense<0.0> : tensor<3x4xf64>
  %bias = nn.select %masked, %infinite, %zero : tensor<3x4xi1>, tensor<3x4xf64>
  %x2 = nn.binary mul %x, %x : tensor<3x4xf64>
  %scores = nn.binary add %x2, %bias : tensor<3x4xf64>
  %p = nn.softmax %scores : tensor<3x4xf64>
  %bad = nn.unary is_nan %p : tensor<3x4xf64> -> tensor<3x4xi1>
  %y = nn.select %bad, %zero, %p : tensor<3x4xi1>, tensor<3x4xf64>
)";

/// Samples in front, after another dimension, leading a dimension that holds
/// more, none; and the mask, which has no gradient.
GradientCase dropout(const std::string &name, const std::string &samples,
                     bool maskOnly = false) {
  std::string body =
      "%kept, %mask = nn.dropout %x ratio 0.4 number 2 samples " + samples +
      " : tensor<3x4x5xf64> -> tensor<3x4x5xi1>\n";
  body += maskOnly ? "%m = nn.convert %mask : tensor<3x4x5xi1> -> "
                     "tensor<3x4x5xf64>\n"
                     "%y = nn.binary mul %m, %x : tensor<3x4x5xf64>"
                   : "%y = nn.binary mul %kept, %kept : tensor<3x4x5xf64>";
  return {"dropout_" + name, {{"x", "3x4x5xf64"}}, body, {{"%y", "3x4x5xf64"}}};
}

const GradientCase kCases[] = {
    // The numbers are like x, but do not depend on it.
    {"random_like",
     {{"x", "3x4xf64"}},
     "%u = nn.random_like %x number 5 samples [0, 3] : tensor<3x4xf64> -> "
     "tensor<3x4xf32>\n"
     "%v = nn.convert %u : tensor<3x4xf32> -> tensor<3x4xf64>\n"
     "%y = nn.binary mul %v, %x : tensor<3x4xf64>",
     {{"%y", "3x4xf64"}}},
    dropout("leading", "[0, 3]"),
    dropout("inner", "[1, 4]"),
    dropout("factor", "[1, 2]"),
    dropout("none", "[]"),
    dropout("mask", "[0, 3]", true),
    {"softmax",
     {{"x", "2x3x4xf64", -2, 2}},
     "%y = nn.softmax %x : tensor<2x3x4xf64>",
     {{"%y", "2x3x4xf64"}}},
    {"softmax_of_masked_rows",
     {{"x", "3x4xf64", -2, 2}},
     kMaskedSoftmax,
     {{"%y", "3x4xf64"}}},
    layerNorm("result", {0}),
    layerNorm("all_results", {0, 1, 2}),
    {"layer_norm_statistics",
     {{"x", "3x4xf64"}},
     "%c = nn.constant dense<1.0> : tensor<4xf64>\n"
     "%n:3 = nn.layer_norm %x, %c, %c epsilon 1.0e-3 : tensor<3x4xf64>, "
     "tensor<4xf64> -> tensor<3x1xf64>, tensor<3x1xf64>",
     {{"%n#1", "3x1xf64"}, {"%n#2", "3x1xf64"}}},
    crossEntropy("loss", {{"%loss", "6x1xf64"}}),
    crossEntropy("lse", {{"%lse", "6x1xf64"}}),
    crossEntropy("both", {{"%loss", "6x1xf64"}, {"%lse", "6x1xf64"}}),
    {"transformer",
     {{"ids", "5xi64", 0, 7},
      {"labels", "5x1xi64", 0, 7},
      {"wte", "7x4xf64"},
      {"wpe", "5x4xf64"},
      {"scale", "4xf64"},
      {"bias", "4xf64"},
      {"w", "4x12xf64"}},
     kTransformer,
     {{"%loss", "5x1xf64"}}},
};

class CompositeGradient : public ::testing::TestWithParam<GradientCase> {};

TEST_P(CompositeGradient, AgreesWithCentralDifferences) {
  checkGradients(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Rules, CompositeGradient, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
