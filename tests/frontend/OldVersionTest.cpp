//===- OldVersionTest.cpp - operators as they were before ai.onnx 13 ------===//

#include "frontend/file/ModelFile.h"
#include "frontend/ops/Ops.h"
#include "tests/frontend/Evaluate.h"

#include "onnx/defs/schema.h"

#include <cmath>
#include <map>
#include <set>

namespace zerograph::frontend::testing {

namespace {

Imported importAt(int opset, const std::string &graph) {
  return import("<ir_version: 6, opset_import: [\"\" : " +
                std::to_string(opset) + "]>\n" + graph);
}

TEST(OldVersion, AxesAreAttributes) {
  for (int opset : {7, 11, 12}) {
    Imported imported = importAt(opset, R"(
g (float[2, 1, 3] x) => (float[1, 2] y) {
  s = Squeeze <axes = [1]> (x)
  r = ReduceSum <axes = [-1], keepdims = 0> (s)
  y = Unsqueeze <axes = [0]> (r)
})");
    EXPECT_EQ(run(imported, {{1, 2, 3, 4, 5, 6}}), (Numbers{6, 15}));
  }
}

TEST(OldVersion, SplitHasSizesAsAnAttribute) {
  Imported imported = importAt(12, R"(
g (float[4] x) => (float[1] a, float[3] b) { a, b = Split <split = [1, 3]> (x) })");
  auto results = runAll(imported, {{1, 2, 3, 4}});
  EXPECT_EQ(results[0], (Numbers{1}));
  EXPECT_EQ(results[1], (Numbers{2, 3, 4}));
}

TEST(OldVersion, SoftmaxIsOverAllThatFollowsTheAxis) {
  Imported old = importAt(12, R"(
g (float[2, 2, 2] x) => (float[2, 2, 2] y, float[2, 2, 2] z) {
  y = Softmax (x)
  z = LogSoftmax <axis = 2> (x)
})");
  auto results = runAll(old, {{0, 0, 0, 0, 1, 1, 1, 1}});
  for (int i = 0; i < 8; ++i) {
    EXPECT_NEAR(results[0][i], 0.25, 1e-12);
    EXPECT_NEAR(results[1][i], -std::log(2.0), 1e-12);
  }
}

// How PyTorch's exporter writes scatter_add while ScatterElements cannot add;
// other scatters into zeros, as of ones at the labels of a sample, replace.
TEST(OldVersion, AScatterIntoZerosThatIsAddedIsASum) {
  for (int opset : {11, 13, 15}) {
    Imported imported = importAt(opset, R"(
g (float[4] x, int64[3] i, float[3] u) => (float[4] y, float[4] z)
<int64[1] n = {4}> {
  zeros = ConstantOfShape (n)
  s = ScatterElements (zeros, i, u)
  y = Add (x, s)
  hot = ScatterElements (zeros, i, u)
  z = Mul (hot, x)
})");
    auto results = runAll(imported, {{1, 1, 1, 1}, {2, 0, 2}, {5, 6, 7}});
    EXPECT_EQ(results[0], (Numbers{7, 1, 13, 1}));
    EXPECT_EQ(results[1], (Numbers{6, 0, 7, 0}));
  }
}

TEST(OldVersion, BoundsPadsAndPlacesAreAttributes) {
  Imported imported = importAt(9, R"(
g (float[5] x) => (float[4] y, float[2] top) {
  c = Clip <min = -1.0, max = 2.0> (x)
  s = Slice <axes = [0], starts = [1], ends = [3]> (c)
  y = Pad <pads = [1, 1], value = 7.0> (s)
  top, at = TopK <k = 2> (x)
})");
  auto results = runAll(imported, {{-3, -2, 5, 1, 0}});
  EXPECT_EQ(results[0], (Numbers{7, -1, 2, 7}));
  EXPECT_EQ(results[1], (Numbers{5, 1}));
}

TEST(OldVersion, ConvolutionsHadTheSameAttributes) {
  for (int opset : {7, 10}) {
    Imported imported = importAt(opset, R"(
g (float[1, 1, 4] x, float[1, 1, 2] w, float[1] b)
  => (float[1, 1, 2] y, float[1, 1, 5] z) {
  y = Conv <strides = [2]> (x, w, b)
  z = ConvTranspose (x, w, b)
})");
    auto results = runAll(imported, {{1, 2, 3, 4}, {10, 1}, {100}});
    EXPECT_EQ(results[0], (Numbers{112, 134}));
    EXPECT_EQ(results[1], (Numbers{110, 121, 132, 143, 104}));
  }
}

TEST(OldVersion, DropoutIsOff) {
  Imported imported = importAt(11, R"(
g (float[2] x) => (float[2] y) { [drop] y = Dropout <ratio = 0.5> (x) })");
  EXPECT_EQ(run(imported, {{3, 4}}), (Numbers{3, 4}));
  ASSERT_EQ(imported.report.warnings.size(), 1u);
  EXPECT_NE(imported.report.warnings[0].find("'drop' (Dropout): dropout with "
                                             "ratio 0.5 stays off"),
            std::string::npos);
}

// These versions of the operators that the importer knows are refused, of all
// that a file of a supported operator set can mean.
TEST(OldVersion, KnowsEveryVersionOfItsOperators) {
  const std::map<std::string, std::string> refused = {
      {"GroupNormalization 18", "deprecated: version 21 took its place"},
      {"Scan 8", "its inputs have a batch dimension: another operator"},
      {"Scatter 11", "deprecated: ScatterElements took its place"},
      {"Upsample 10", "deprecated: Resize took its place"},
  };
  std::set<std::string> known = operatorNames(), found;
  EXPECT_GT(known.size(), 150u);
  for (const std::string &name : known) {
    for (int opset = kMinOpset; opset <= kMaxOpset; ++opset) {
      const auto *schema = onnx::OpSchemaRegistry::Schema(name, opset);
      bool supported =
          schema != nullptr && !schema->Deprecated() &&
          (findOp(name, opset) != nullptr || schema->HasFunction() ||
           schema->HasContextDependentFunction());
      if (schema == nullptr || supported) {
        continue;
      }
      std::string version = name + " " + std::to_string(schema->SinceVersion());
      found.insert(version);
      EXPECT_TRUE(refused.count(version))
          << version << " is refused in " << opset;
    }
  }
  for (const auto &[version, reason] : refused) {
    EXPECT_TRUE(found.count(version)) << version << " is not refused";
  }
}

TEST(OldVersion, RefusesWhatCameLater) {
  expectRefused(importAt(12, R"(
g (float[2] x, float[2] s) => (float[2] y) {
  [norm] y = LayerNormalization (x, s)
})"),
                {"node 'norm' (LayerNormalization)", "ai.onnx 12"});
}

TEST(OldVersion, RefusesWhatWasAnotherOperator) {
  expectRefused(importAt(8, R"(
g (float[1, 2] h, float[1, 3, 2] x) => (float[1, 3, 2] y) {
  [steps] last, y = Scan <num_scan_inputs = 1,
    body = b (float[2] h, float[2] v) => (float[2] k, float[2] o) {
      k = Add(h, v)
      o = Identity(k)
    }> ( , h, x)
})"),
                {"node 'steps' (Scan): the operator is not supported as it was "
                 "in ai.onnx 8: export again with operator set 9 or newer"});
}

} // namespace

} // namespace zerograph::frontend::testing
