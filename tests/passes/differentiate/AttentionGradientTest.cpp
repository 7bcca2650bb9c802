//===- AttentionGradientTest.cpp - gradients of attention -----------------===//

#include "tests/passes/differentiate/GradientCase.h"
#include "tests/support/AttentionCase.h"

#include <gtest/gtest.h>

using namespace mlir::zg::testing;

namespace {

const AttentionCase kCases[] = {
    {"scaled", 1, 3, 4, 2, 2, 3, 5, Scores::Scaled, "f64"},
    {"causal", 2, 4, 4, 2, 2, 3, 3, Scores::Causal, "f64"},
    {"grouped", 1, 3, 3, 4, 2, 3, 2, Scores::Causal, "f64"},
    {"one_head_of_keys", 1, 3, 3, 3, 1, 2, 2, Scores::Causal, "f64"},
    {"masked_whole", 1, 4, 4, 1, 1, 3, 3, Scores::Infinite, "f64", true},
    {"padded", 2, 4, 4, 1, 1, 3, 3, Scores::Padding, "f64"},
    {"weighed", 1, 3, 4, 1, 1, 3, 3, Scores::Weighed, "f64"},
    {"bias", 3, 3, 4, 2, 2, 3, 3, Scores::Bias, "f64"},
    {"bias_of_one", 1, 3, 4, 2, 1, 3, 3, Scores::Bias, "f64"},
    {"bias_weighed", 2, 3, 4, 2, 2, 3, 3, Scores::BiasOfWeighed, "f64"},
    {"bias_padded", 2, 4, 4, 2, 2, 3, 3, Scores::BiasOfPadded, "f64"},
    {"capped", 1, 3, 4, 1, 1, 3, 3, Scores::Capped, "f64"},
};

class AttentionGradient : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionGradient, AgreesWithCentralDifferences) {
  const AttentionCase &attention = GetParam();
  GradientCase gradientCase = {attention.name, {}, attention.text(), {}};
  for (const auto &[name, type] : attention.arguments()) {
    bool isMask = name == "mask";
    gradientCase.arguments.push_back(
        {name, type, isMask ? 0.0 : -1.0, isMask ? 2.0 : 1.0});
  }
  gradientCase.results = {{"%out", attention.outType()}};
  checkGradients(gradientCase);
}

INSTANTIATE_TEST_SUITE_P(Rules, AttentionGradient, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
