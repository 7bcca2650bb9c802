//===- TensorFlowTest.cpp - files that tf2onnx made of Keras's models -----===//

#include "tests/frontend/Evaluate.h"
#include "tests/frontend/Fixture.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"

namespace zerograph::frontend::testing {

namespace {

using ::testing::HasSubstr;

/// Imports the text as tf2onnx writes it, its initializers called by the names
/// that stand for theirs: it calls them as no text can.
Imported importTensorFlow(const std::string &text,
                          const std::map<std::string, std::string> &names = {},
                          const ImportOptions &options = {}) {
  onnx::ModelProto model = parse(text);
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("tf2onnx");
  auto rename = [&](std::string &name) {
    auto found = names.find(name);
    name = found == names.end() ? name : found->second;
  };
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    rename(*tensor.mutable_name());
  }
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input()) {
      rename(input);
    }
  }
  return importFile(write(model), options);
}

constexpr char kDense[] = R"(
g (float[2, 2] x) => (float loss)
<float[2, 1] kernel = {1, 2}, float[1] bias = {3}, float six = {6},
 float[2] mean = {1, 2}, float[2, 2] mask = {1, 0, 1, 1}, float[2] scale = {1, 2}> {
  a = Sub (x, mean)
  b = Mul (a, mask)
  c = Mul (b, scale)
  d = MatMul (c, kernel)
  e = Add (d, bias)
  f = Min (e, six)
  loss = ReduceSum <keepdims = 0> (f)
})";

const std::map<std::string, std::string> kDenseNames = {
    {"kernel", "m/dense/Cast/ReadVariableOp:0"},
    {"bias", "m/dense/Add/ReadVariableOp:0"},
    {"six", "m/relu/Const:0"},
    {"mean", "m/norm/Sub/y:0"},
    {"mask", "const_fold_opt__7"},
    {"scale", "const_fold_opt__8"}};

TEST(TensorFlow, NamesTellVariablesFromConstants) {
  Imported imported = importTensorFlow(kDense, kDenseNames);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_TRUE(imported.isTrained("m/dense/Cast/ReadVariableOp:0"));
  EXPECT_TRUE(imported.isTrained("m/dense/Add/ReadVariableOp:0"));
  EXPECT_TRUE(imported.isTrained("const_fold_opt__8"));
  for (const char *name : {"m/norm/Sub/y:0", "const_fold_opt__7"}) {
    EXPECT_FALSE(imported.isTrained(name)) << name;
  }
  EXPECT_EQ(imported.report.notes.size(), 2u);
  EXPECT_THAT(imported.report.notes,
              ::testing::Contains(HasSubstr(
                  "hold only 0 and 1 or are named as TensorFlow's constants "
                  "are: m/norm/Sub/y:0, const_fold_opt__7")));
  EXPECT_THAT(imported.report.notes,
              ::testing::Contains(HasSubstr("may be buffers or constants, "
                                            "which this exporter does not tell "
                                            "from parameters: "
                                            "const_fold_opt__8")));
}

/// A model from JAX has no variables: constants are its weights.
TEST(TensorFlow, ConstantsOfAFileWithoutVariablesAreTrained) {
  std::map<std::string, std::string> names = kDenseNames;
  names["kernel"] = "m/Const_1:0";
  names["bias"] = "m/Const_2:0";
  Imported imported = importTensorFlow(kDense, names);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  for (const char *name : {"m/Const_1:0", "m/Const_2:0", "m/norm/Sub/y:0"}) {
    EXPECT_TRUE(imported.isTrained(name)) << name;
  }
}

/// A file that names nothing: a bias of one element is trained, and a mask is
/// not.
TEST(Parameters, AreToldFromConstantsByTheirUse) {
  Imported imported = import(kDense);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  for (const char *name : {"kernel", "bias", "mean", "scale"}) {
    EXPECT_TRUE(imported.isTrained(name)) << name;
  }
  EXPECT_FALSE(imported.parameter("six"));
  EXPECT_FALSE(imported.isTrained("mask"));
}

TEST(TensorFlow, OperatorsThatItLeavesAreConverted) {
  struct {
    const char *op;
    double (*function)(double);
  } cases[] = {
      {"Erfc", std::erfc}, {"Expm1", std::expm1}, {"Log1p", std::log1p}};
  for (const auto &one : cases) {
    Imported imported = import(std::string("g (float[2] x) => (float[2] y) { "
                                           "y = ") +
                               one.op + " (x) }");
    ASSERT_TRUE(imported.status.ok()) << imported.status;
    std::vector<double> got = run(imported, {{0.5, 2}});
    EXPECT_NEAR(got[0], one.function(0.5), 1e-6) << one.op;
    EXPECT_NEAR(got[1], one.function(2), 1e-6) << one.op;
  }
}

/// tf2onnx has --opset 13, which has no CastLike.
TEST(TensorFlow, OperatorsAreConvertedInOldOperatorSetsToo) {
  Imported imported = import(R"(<ir_version: 7, opset_import: ["" : 13]>
g (float[1] x) => (float[1] y) { y = Erfc (x) })");
  EXPECT_NEAR(run(imported, {{0.5}})[0], std::erfc(0.5), 1e-6);
}

/// An arranged tensor may have been a constant: its elements decide.
TEST(TensorFlow, ConstantsThatWereArrangedAreToldByWhatTheyHold) {
  std::map<std::string, std::string> names = kDenseNames;
  names["six"] = "m/Cast:0";
  names["mask"] = "m/Reshape:0";
  names["scale"] = "m/norm/Reshape_1:0";
  Imported imported = importTensorFlow(kDense, names);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_FALSE(imported.parameter("m/Cast:0"));
  EXPECT_FALSE(imported.isTrained("m/Reshape:0"));
  EXPECT_TRUE(imported.isTrained("m/norm/Reshape_1:0"));
}

/// A file may say anything: nodes are checked later.
TEST(TensorFlow, NodesWithoutOperandsAreRefused) {
  expectRefused(importTensorFlow(R"(
g (float[2, 2] x) => (float loss)
<float[2, 2] w = {1, 2, 3, 4}> {
  a = MatMul (x, w)
  b = Add (a)
  loss = ReduceSum <keepdims = 0> (b)
})",
                                 {{"w", "m/ReadVariableOp:0"}}),
                {"node 'b' (Add)"});
}

/// The second half of its bias, which is zero in the file, counts for nothing.
TEST(TensorFlow, AnLstmHasOneBias) {
  const char *text = R"(
g (float[2, 1, 1] x) => (float loss)
<float[1, 4, 1] w = {1, 2, 3, 4}, float[1, 4, 1] r = {1, 2, 3, 4},
 float[1, 8] b = {1, 2, 3, 4, 0, 0, 0, 0}> {
  y = LSTM <hidden_size = 1> (x, w, r, b)
  loss = ReduceSum <keepdims = 0> (y)
})";
  std::map<std::string, std::string> names = {{"w", "m/ReadVariableOp:0"}};
  Imported keras = importTensorFlow(text, names), other = import(text);
  ASSERT_TRUE(keras.status.ok() && other.status.ok()) << keras.status;
  EXPECT_TRUE(keras.isTrained("b"));
  auto with = [](double second) {
    return std::vector<Numbers>{{1, 2},
                                {1, 2, 3, 4},
                                {1, 2, 3, 4},
                                {1, 2, 3, 4, second, second, second, second}};
  };
  EXPECT_EQ(run(keras, with(0)), run(other, with(0)));
  EXPECT_EQ(run(keras, with(9)), run(other, with(0)));
}

/// A GRU has one if it resets before the product.
TEST(TensorFlow, AGruMayHaveOneBias) {
  auto with = [](const std::string &attribute, double second) {
    Imported imported = importTensorFlow(
        R"(
g (float[2, 1, 1] x) => (float loss)
<float[1, 3, 1] w = {1, 2, 3}, float[1, 3, 1] r = {1, 2, 3},
 float[1, 6] b = {1, 2, 3, 0, 0, 0}> {
  y = GRU <hidden_size = 1)" +
            attribute + R"(> (x, w, r, b)
  loss = ReduceSum <keepdims = 0> (y)
})",
        {{"w", "m/ReadVariableOp:0"}});
    return run(
        imported,
        {{1, 2}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3, second, second, second}});
  };
  EXPECT_EQ(with("", 0), with("", 9));
  const char *after = ", linear_before_reset = 1";
  EXPECT_NE(with(after, 0), with(after, 9));
}

TEST(TensorFlow, ATransposedCopyIsRefused) {
  const char *text = R"(
g (int64[2] x) => (float loss)
<float[3, 2] table = {1, 2, 3, 4, 5, 6}, float[2, 3] copy = {1, 3, 5, 2, 4, 6}> {
  a = Gather (table, x)
  b = MatMul (a, copy)
  loss = ReduceSum <keepdims = 0> (b)
})";
  std::map<std::string, std::string> names = {
      {"table", "m/embedding/ReadVariableOp:0"}, {"copy", "m/transpose:0"}};
  expectRefused(importTensorFlow(text, names),
                {"transposed copies of weights",
                 "m/transpose:0 (of 'm/embedding/ReadVariableOp:0')",
                 "--allow-exporter-damage"});
  ImportOptions options;
  options.allow_exporter_damage = true;
  EXPECT_TRUE(importTensorFlow(text, names, options).status.ok());
}

TEST(TensorFlow, WhatItTookForConstantsIsWarnedOf) {
  Imported imported = importTensorFlow(R"(
g (float[2, 2] x) => (float loss)
<float[2, 2] first = {1, 2, 3, 4}, float[2, 2] second = {1, 2, 3, 5},
 float[2] scale = {1, 2}, float[2] twice = {2, 2}> {
  a = MatMul (x, first)
  b = Mul (a, scale)
  c = Add (b, twice)
  d = MatMul (c, second)
  e = Add (d, twice)
  loss = ReduceSum <keepdims = 0> (e)
})",
                                       {{"first", "m/a/ReadVariableOp:0"},
                                        {"second", "m/b/ReadVariableOp:0"},
                                        {"scale", "m/bn/batchnorm/mul:0"},
                                        {"twice", "m/b/Add/ReadVariableOp:0"}});
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  ASSERT_EQ(imported.report.warnings.size(), 3u);
  expectSays(imported.report.warnings[0], "they stay one",
             "m/b/Add/ReadVariableOp:0");
  expectSays(imported.report.warnings[1], "exported for inference",
             "m/bn/batchnorm/mul:0");
  expectSays(imported.report.warnings[2], "1 of 2 products have no bias");
}

} // namespace

} // namespace zerograph::frontend::testing
