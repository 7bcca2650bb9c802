//===- ConstantWeightTest.cpp - weights that stand in Constant nodes ------===//

#include "tests/frontend/Fixture.h"

#include "gmock/gmock.h"

#include <cmath>

namespace zerograph::frontend::testing {

namespace {

ImportOptions twoSamples() {
  ImportOptions options;
  options.dims["batch"] = 2;
  return options;
}

TEST(ConstantWeight, WhereOperatorsTakeWeights) {
  Imported imported = import(R"(
g (float[batch, 4] x) => (float loss) {
  w = Constant <value = float[4, 2] {1, 2, 3, 4, 5, 6, 7, 8}> ()
  b = Constant <value = float[2] {1, 2}> ()
  half = Constant <value = float[2] {0.5, 0.25}> ()
  p = MatMul (x, w)
  q = Add (b, p)
  y = Mul (q, half)
  loss = ReduceSum <keepdims = 0> (y)
})",
                             twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_TRUE(imported.isTrained("w"));
  EXPECT_TRUE(imported.isTrained("b"));
  EXPECT_FALSE(imported.parameter("half"));
  // Their bytes lie in no initializer of the file.
  EXPECT_EQ(imported.report.inline_weights.size(), 2u);
}

TEST(ConstantWeight, OfNormsThatAreWrittenOut) {
  Imported imported = import(R"(<ir_version: 4, opset_import: ["" : 9]>
g (float[batch, 4] x) => (float loss) {
  c = Constant <value = float[4] {1, 2, 3, 4}> ()
  w = Slice <starts = [0], ends = [2], axes = [0]> (c)
  u = Unsqueeze <axes = [1]> (w)
  v = Constant <value = float[4, 2] {1, 2, 3, 4, 5, 6, 7, 8}> ()
  scale = Constant <value = float[1, 2] {1, 2}> ()
  offset = Constant <value = float[2] {1, 2}> ()
  half = Constant <value = float[1] {0.5}> ()
  p = MatMul (x, v)
  n = Mul (scale, p)
  m = Add (n, offset)
  h = Mul (m, half)
  q = MatMul (h, u)
  loss = ReduceSum <keepdims = 0> (q)
})",
                             twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  for (const char *name : {"c", "v", "scale", "offset"}) {
    EXPECT_TRUE(imported.isTrained(name)) << name;
  }
  EXPECT_FALSE(imported.parameter("half"));
}

/// A constant is a fixed filter where the file has weights of its own.
TEST(ConstantWeight, NotBesideInitializers) {
  Imported imported = import(R"(
g (float[batch, 4] x) => (float loss)
<float[2, 3] v = {1, 2, 3, 4, 5, 6}>
{
  w = Constant <value = float[4, 2] {1, 2, 3, 4, 5, 6, 7, 8}> ()
  p = MatMul (x, w)
  y = MatMul (p, v)
  loss = ReduceSum <keepdims = 0> (y)
})",
                             twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_TRUE(imported.isTrained("v"));
  EXPECT_FALSE(imported.parameter("w"));
  EXPECT_THAT(imported.report.notes,
              ::testing::Contains(::testing::HasSubstr(
                  "not trained, as they are Constant nodes beside other "
                  "weights, or within a loop or branch: w. To train them")));
}

TEST(ConstantWeight, MasksAreNone) {
  onnx::ModelProto model = parse(R"(
g (float[batch, 2] x) => (float loss)
<float[2, 2] v = {1, 2, 3, 4}>
{
  mask = Constant <value = float[2] {0, 1}> ()
  p = MatMul (x, v)
  y = Add (p, mask)
  loss = ReduceSum <keepdims = 0> (y)
})");
  model.mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_t()
      ->set_float_data(1, -INFINITY);
  Imported imported = importFile(write(model), twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  for (const std::string &note : imported.report.notes) {
    EXPECT_EQ(note.find("mask"), std::string::npos) << note;
  }
}

/// Also where an exporter that folds nothing reads them through something.
TEST(ConstantWeight, NotBesideInitializersThatAreTransposed) {
  Imported imported = import(R"(
g (float[batch, 4] x) => (float loss)
<float[2, 4] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  c = Constant <value = float[2] {1, 2}> ()
  t = Transpose (w)
  i = Identity (t)
  p = MatMul (x, i)
  y = Add (p, c)
  loss = ReduceSum <keepdims = 0> (y)
})",
                             twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_TRUE(imported.isTrained("w"));
  EXPECT_FALSE(imported.parameter("c"));
}

} // namespace

} // namespace zerograph::frontend::testing
