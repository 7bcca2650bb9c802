//===- RandomTest.cpp - dropout and random numbers ------------------------===//

#include "tests/frontend/Evaluate.h"
#include "tests/frontend/Fixture.h"

#include "absl/strings/str_cat.h"
#include "mlir/Pass/PassManager.h"
#include "passes/differentiate/Passes.h"

#include <algorithm>
#include <cmath>

namespace zerograph::frontend::testing {

namespace {

/// Two dropouts, the second of the first's result, at an operator set.
Imported importTwo(int opset, const std::string &inputs,
                   const std::string &attribute, ImportOptions options = {}) {
  return import(absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset,
                             "]>\n", R"(
g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
  r = Constant <value = float {0.25}> ()
  t = Constant <value = bool {1}> ()
  [one] y, m = Dropout )",
                             attribute, " (x", inputs, R"()
  [two] a = Dropout )",
                             attribute, " (y", inputs, R"()
  f = Cast <to = 1> (m)
  z = Mul(a, f)
})"),
                options);
}

bool warns(const Imported &imported, const std::string &part) {
  for (const std::string &warning : imported.report.warnings) {
    if (warning.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(Dropout, HasRatioAndNumber) {
  for (int opset : {12, 13, 22}) {
    Imported imported = importTwo(opset, ", r, t", "");
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_EQ(imported.count("nn.dropout"), 2);
    EXPECT_TRUE(imported.has("ratio 2.500000e-01 number 0")) << imported.text();
    EXPECT_TRUE(imported.has("ratio 2.500000e-01 number 1")) << imported.text();
    EXPECT_EQ(imported.report.notes,
              std::vector<std::string>{"2 dropouts with ratio 0.25"});
    EXPECT_TRUE(imported.report.warnings.empty());
  }
}

// training_mode alone: the ratio is 0.5.
TEST(Dropout, HasARatioByDefault) {
  Imported imported = importTwo(18, ", , t", "");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("ratio 5.000000e-01 number 0"));
}

TEST(Dropout, IsOffWithoutTrainingMode) {
  Imported imported = importTwo(18, ", r", "");
  EXPECT_EQ(imported.count("nn.dropout"), 0);
  EXPECT_EQ(runAll(imported, {{1, 2, 3, 4, 5, 6}})[1],
            (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(imported.report.notes.empty());
}

TEST(Dropout, TakesTheUsersRatio) {
  ImportOptions options;
  options.dropout = 0.5;
  // The file has 0.25, has it off, cannot say that it is on.
  for (const Imported &imported :
       {importTwo(18, ", r, t", "", options), importTwo(18, ", r", "", options),
        importTwo(11, "", "<ratio = 0.25>", options),
        importTwo(7, "", "<ratio = 0.25>", options)}) {
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_EQ(imported.count("nn.dropout"), 2);
    EXPECT_TRUE(imported.has("ratio 5.000000e-01 number 1"));
    EXPECT_TRUE(imported.report.warnings.empty());
  }
  options.dropout = 0;
  Imported off = importTwo(18, ", r, t", "", options);
  EXPECT_EQ(off.count("nn.dropout"), 0);
  EXPECT_EQ(off.report.notes, std::vector<std::string>{
                                  "2 dropouts are turned off by --dropout 0"});
}

TEST(Dropout, WithoutADropoutTheUsersRatioIsSaidToBeIdle) {
  ImportOptions options;
  options.dropout = 0.5;
  Imported imported =
      import("g (float[2] x) => (float[2] y) { y = Neg(x) }", options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(warns(imported, "--dropout has no effect"));
}

TEST(Dropout, SaysThatItsSeedIsNotUsed) {
  Imported imported = importTwo(18, ", r, t", "<seed = 3>");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_EQ(imported.report.notes.size(), 2u);
  EXPECT_NE(imported.report.notes[0].find("'seed' of Dropout is not used"),
            std::string::npos);
}

/// The moments of all values: mean, variance, least and greatest.
struct Moments {
  double mean = 0, variance = 0, low = INFINITY, high = -INFINITY;

  explicit Moments(const Numbers &values) {
    for (double value : values) {
      mean += value / values.size();
      low = std::min(low, value);
      high = std::max(high, value);
    }
    for (double value : values) {
      variance += (value - mean) * (value - mean) / values.size();
    }
  }
};

/// The results of nodes that read `x`, 40x50 numbers of 0.3, each sample a row.
std::vector<Numbers> drawLike(const std::string &nodes,
                              const std::string &type = "float") {
  Imported imported =
      import(absl::StrCat("g (", type, "[40, 50] x) => (", type, "[40, 50] y, ",
                          type, "[40, 50] z) {", nodes, "}"));
  EXPECT_TRUE(imported.status.ok()) << imported.error();
  if (imported.status.ok()) {
    mlir::PassManager passes(imported.context.get());
    passes.addPass(mlir::zg::nn::createTrackSamples());
    EXPECT_TRUE(mlir::succeeded(passes.run(*imported.module)));
    EXPECT_FALSE(imported.has("samples []")) << imported.text();
  }
  return runAll(imported, {Numbers(2000, 0.3)});
}

// With 2000 numbers the bounds are four or more standard deviations wide.
TEST(Random, UniformNumbersFillTheirRange) {
  for (const char *type : {"float", "double", "float16"}) {
    std::vector<Numbers> results = drawLike(
        R"(y = RandomUniformLike <low = -1.0, high = 3.0> (x)
           z = RandomUniformLike (x))",
        type);
    Moments wide(results[0]), unit(results[1]);
    EXPECT_NEAR(wide.mean, 1, 0.11);
    EXPECT_NEAR(wide.variance, 16 / 12., 0.1);
    EXPECT_GE(wide.low, -1);
    EXPECT_LE(wide.high, 3);
    EXPECT_NEAR(unit.mean, 0.5, 0.03);
    EXPECT_GE(unit.low, 0);
    EXPECT_LE(unit.high, 1);
    EXPECT_NE(results[0][0], results[1][0] * 4 - 1) << "the same numbers";
  }
}

TEST(Random, NormalNumbersHaveTheirMoments) {
  std::vector<Numbers> results =
      drawLike(R"(y = RandomNormalLike <mean = 2.0, scale = 3.0> (x)
                  z = RandomNormalLike (x))");
  Moments wide(results[0]), unit(results[1]);
  EXPECT_NEAR(wide.mean, 2, 0.28);
  EXPECT_NEAR(wide.variance, 9, 1.2);
  EXPECT_NEAR(unit.mean, 0, 0.1);
  EXPECT_NEAR(unit.variance, 1, 0.13);
  EXPECT_LT(unit.low, -2.5);
  EXPECT_GT(unit.high, 2.5);
  double fourth = 0, product = 0;
  for (int i = 0; i < 2000; ++i) {
    fourth += std::pow(results[1][i], 4) / 2000;
    product += (results[0][i] - 2) / 3 * results[1][i] / 2000;
  }
  EXPECT_NEAR(fourth, 3, 0.9);
  EXPECT_NEAR(product, 0, 0.1) << "they depend on each other";
}

TEST(Random, BernoulliHitsAsOftenAsItsInputSays) {
  std::vector<Numbers> results = drawLike(R"(y = Bernoulli (x)
      b = Bernoulli <dtype = 9> (x)
      z = Cast <to = 1> (b))");
  for (const Numbers &values : results) {
    for (double value : values) {
      EXPECT_TRUE(value == 0 || value == 1);
    }
    EXPECT_NEAR(Moments(values).mean, 0.3, 0.042);
  }
  EXPECT_NE(results[0], results[1]);
}

// A value with the shape of a constant, as of zeros, has samples in front as
// well.
TEST(Random, NumbersOfAConstantShapeDifferBetweenSamples) {
  std::vector<Numbers> results = drawLike(R"(
      s = Constant <value_ints = [40, 1]> ()
      c = ConstantOfShape (s)
      u = RandomUniformLike (c)
      y = Add(x, u)
      n = RandomNormal <shape = [3, 50]> ()
      m = ReduceMean(n)
      z = Add(x, m))");
  EXPECT_NE(results[0][0], results[0][50]);
  EXPECT_EQ(results[0][0], results[0][49]);
  EXPECT_EQ(results[1][0], results[1][1999]);
  EXPECT_NE(results[1][0], 0.3);
}

TEST(Random, AScalarIsDrawn) {
  std::vector<Numbers> results = drawLike(R"(
      r = ReduceMax <keepdims = 0> (x)
      u = RandomUniformLike (r)
      y = Add(x, u)
      v = Bernoulli(r)
      z = Add(x, v))");
  EXPECT_GT(results[0][0], 0.3);
  EXPECT_TRUE(results[1][0] == 0.3 || results[1][0] > 1.2) << results[1][0];
}

TEST(Random, IntegersAreRefused) {
  Imported imported = import(
      "g (float[2] x) => (float[2] y) {"
      "  s = Shape(x)  r = RandomUniformLike(s)  y = Cast <to = 1> (r) }");
  EXPECT_NE(imported.error().find("INT64, which is no floating-point type"),
            std::string::npos)
      << imported.error();
}

} // namespace

} // namespace zerograph::frontend::testing
