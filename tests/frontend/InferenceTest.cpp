//===- InferenceTest.cpp - a model without what only trains ---------------===//

#include "tests/frontend/Exported.h"

#include "onnx/checker.h"
#include "gmock/gmock.h"

namespace zerograph::frontend::testing {

namespace {

using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Exported inference(const std::string &text, ExportOptions options = {}) {
  options.inference = true;
  Exported exported = exportText(text, {}, options);
  EXPECT_TRUE(exported.status.ok()) << exported.status;
  try {
    onnx::checker::check_model(exported.model, /*full_check=*/true);
  } catch (const std::exception &error) {
    ADD_FAILURE() << error.what();
  }
  return exported;
}

const char *const kClassifier = R"(
g (float[batch, 4] x, int64[batch] labels) => (float loss)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
 float[3] b = {1, 2, 3}>
{
  p = MatMul (x, w)
  scores = Add (p, b)
  loss = SoftmaxCrossEntropyLoss (scores, labels)
})";

TEST(Inference, WhatTheLossReadsBecomesTheOutput) {
  Exported exported = inference(kClassifier);
  EXPECT_THAT(exported.outputs(), ElementsAre("scores"));
  EXPECT_THAT(exported.inputs(), ElementsAre("x"));
  EXPECT_THAT(exported.operators(), ElementsAre("MatMul", "Add"));
  const auto &shape = exported.graph().output(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "batch");
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
}

/// PyTorch's exporter may take the size of a batch from the labels.
TEST(Inference, SizesOfLabelsAreTakenFromOtherInputs) {
  const char *const model = R"(
g (float[5, batch, 4] x, int64[batch] labels) => (float loss)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
 int64[1] rest = {-1}>
{
  p = MatMul (x, w)
  n = Shape <start = 0, end = 1> (labels)
  s = Concat <axis = 0> (n, rest)
  r = Reshape (p, s)
  scores = Relu (r)
  loss = SoftmaxCrossEntropyLoss (scores, labels)
})";
  Exported exported = inference(model);
  EXPECT_THAT(exported.outputs(), ElementsAre("scores"));
  EXPECT_THAT(exported.inputs(), ElementsAre("x"));
  const onnx::NodeProto &shape = exported.graph().node(1);
  EXPECT_EQ(shape.op_type(), "Shape");
  EXPECT_EQ(shape.input(0), "x");
  ASSERT_EQ(shape.attribute_size(), 2);
  EXPECT_EQ(shape.attribute(0).i(), 1);
  EXPECT_EQ(shape.attribute(1).i(), 2);
}

TEST(Inference, OutputsBesideTheLossStay) {
  Exported exported = inference(R"(
g (float[batch, 4] x, int64[batch] labels) => (float[batch, 3] y, float loss)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float unused = {1}>
{
  scores = MatMul (x, w)
  y = Softmax (scores)
  loss = SoftmaxCrossEntropyLoss (scores, labels)
})");
  EXPECT_THAT(exported.outputs(), ElementsAre("y"));
  EXPECT_THAT(exported.inputs(), ElementsAre("x"));
  EXPECT_THAT(Exported::names(exported.graph().initializer()),
              ElementsAre("w"));
}

TEST(Inference, ViewsBelongToTheLoss) {
  Exported exported = inference(R"(
g (int64[batch, seq] ids, int64[batch, seq] labels) => (float loss)
<float[2, 4] table = {1, 2, 3, 4, 5, 6, 7, 8},
 float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64[2] rows = {-1, 3}, int64[1] all = {-1},
 int64[1] zero = {0}, int64[1] last = {-1}, int64[1] axis = {1}>
{
  hidden = Gather (table, ids)
  logits = MatMul (hidden, w)
  shifted = Slice (logits, zero, last, axis)
  flat = Reshape (shifted, rows)
  next = Slice (labels, axis, all, axis)
  goal = Reshape (next, all)
  loss = SoftmaxCrossEntropyLoss (flat, goal)
})");
  EXPECT_THAT(exported.outputs(), ElementsAre("logits"));
  EXPECT_THAT(exported.inputs(), ElementsAre("ids"));
}

TEST(Inference, ALossInPiecesReadsOneValue) {
  Exported exported = inference(R"(
g (float[batch, 4] x, float[batch, 1] goal) => (float loss)
<float[4, 1] w = {1, 2, 3, 4}, float one = {1}>
{
  scores = MatMul (x, w)
  positive = Relu (scores)
  product = Mul (scores, goal)
  size = Abs (scores)
  small = Neg (size)
  e = Exp (small)
  sum = Add (e, one)
  log = Log (sum)
  part = Sub (positive, product)
  each = Add (part, log)
  loss = ReduceMean <keepdims = 0> (each)
})");
  EXPECT_THAT(exported.outputs(), ElementsAre("scores"));
}

TEST(Inference, WithoutLabelsTheUserSays) {
  const char *text = R"(
g (float[batch, 4] x) => (float loss)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  code = MatMul (x, w)
  square = Mul (code, code)
  loss = ReduceMean <keepdims = 0> (square)
})";
  ExportOptions options;
  options.inference = true;
  Exported exported = exportText(text, {}, options);
  EXPECT_THAT(
      std::string(exported.status.message()),
      ::testing::AllOf(HasSubstr("--output-value"), HasSubstr("'code'")));
  options.output_value = {"code"};
  exported = inference(text, options);
  EXPECT_THAT(exported.outputs(), ElementsAre("code"));
  options.output_value = {"cod"};
  exported = exportText(text, {}, options);
  EXPECT_THAT(std::string(exported.status.message()),
              ::testing::AllOf(HasSubstr("--output-value cod"),
                               HasSubstr("did you mean 'code'")));
}

TEST(Inference, DropoutIsOff) {
  Exported exported = inference(R"(
g (float[batch, 4] x) => (float[batch, 4] y, bool[batch, 4] mask)
<float ratio = {0.5}, bool on = {1}>
{
  a = Dropout (x, ratio, on)
  y, mask = Dropout (a, ratio, on)
})");
  EXPECT_THAT(exported.operators(), ElementsAre("Identity", "Dropout"));
  EXPECT_EQ(exported.graph().node(1).input_size(), 2);
  EXPECT_THAT(exported.outputs(), ElementsAre("y", "mask"));
  EXPECT_THAT(exported.files.notes,
              ::testing::Contains(HasSubstr("no output is a loss")));
}

const char *const kNorm = R"(
g (float[batch, 2, 3] x) => (float[batch, 2, 3] y, float[2] seen)
<float[2] scale = {1, 2}, float[2] bias = {3, 4}, float[2] mean = {5, 6},
 float[2] var = {7, 8}>
{
  y, m, v = BatchNormalization <training_mode = 1> (x, scale, bias, mean, var)
  seen = Add (m, bias)
})";

TEST(Inference, BatchNormUsesWhatIsStored) {
  Exported exported = inference(kNorm);
  EXPECT_THAT(exported.operators(),
              ElementsAre("BatchNormalization", "Identity", "Add"));
  const auto &norm = exported.graph().node(0);
  EXPECT_EQ(norm.output_size(), 1);
  EXPECT_EQ(norm.attribute_size(), 0);
  EXPECT_EQ(exported.graph().node(1).input(0), "mean");
  EXPECT_EQ(exported.graph().node(1).output(0), "m");
}

TEST(Inference, BatchNormWithoutStatisticsStays) {
  Exported exported = inference(R"(
g (float[batch, 2, 3] x) => (float[batch, 2, 3] y)
<float[2] scale = {1, 2}, float[2] bias = {3, 4}>
{
  mean = Neg (bias)
  var = Abs (bias)
  y, m, v = BatchNormalization <training_mode = 1> (x, scale, bias, mean, var)
})");
  EXPECT_EQ(exported.graph().node(2).attribute_size(), 1);
  EXPECT_EQ(exported.graph().node(2).output_size(), 3);
  EXPECT_THAT(exported.files.notes,
              ::testing::Contains(HasSubstr("normalized by the batch")));
}

TEST(Inference, BeforeVersion14OutputsSayThatItTrains) {
  Exported exported = inference(R"(<ir_version: 6, opset_import: ["" : 12]>
g (float[batch, 2, 3] x) => (float[batch, 2, 3] y)
<float[2] scale = {1, 2}, float[2] bias = {3, 4}, float[2] mean = {5, 6},
 float[2] var = {7, 8}>
{
  y, m, v, sm, sv = BatchNormalization (x, scale, bias, mean, var)
})");
  EXPECT_EQ(exported.graph().node(0).output_size(), 1);
}

TEST(Inference, WithinBodies) {
  Exported exported = inference(R"(
g (float[4] x, bool c) => (float[4] y)
<float ratio = {0.5}, bool on = {1}>
{
  y = If (c) <
    then_branch = t () => (float[4] a) { a = Dropout (x, ratio, on) },
    else_branch = e () => (float[4] b) { b = Neg (x) }>
})");
  const auto &body = exported.graph().node(0).attribute(0).g();
  EXPECT_EQ(body.node(0).op_type(), "Identity");
  EXPECT_EQ(body.node(0).input_size(), 1);
}

TEST(Inference, FunctionsAreWrittenOut) {
  Exported exported =
      inference(R"(<ir_version: 8, opset_import: ["" : 18, "f" : 1]>
g (float[batch, 2] x, float[batch, 1] goal) => (float loss)
<float[2, 1] w = {1, 2}> {
  loss = f.all (x, goal, w)
}
<domain: "f", opset_import: ["" : 18]>
all (x, goal, w) => (loss) {
  y = MatMul (x, w)
  d = Sub (y, goal)
  s = Mul (d, d)
  loss = ReduceMean <keepdims = 0> (s)
})");
  EXPECT_THAT(exported.operators(), ElementsAre("MatMul"));
  EXPECT_EQ(exported.model.functions_size(), 0);
}

} // namespace

} // namespace zerograph::frontend::testing
