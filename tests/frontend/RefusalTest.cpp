//===- RefusalTest.cpp - what is wrong is refused with its name -----------===//

#include "tests/frontend/Fixture.h"

#include <filesystem>
#include <fstream>

namespace zerograph::frontend::testing {

namespace {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST(RefusedFile, Missing) {
  expectRefused(importFile("/nonexistent/m.onnx"), {"cannot open"});
}

TEST(RefusedFile, Folder) {
  expectRefused(importFile(::testing::TempDir()), {"is a folder"});
}

TEST(RefusedFile, Empty) {
  expectRefused(importFile(writeBytes("")), {"not an ONNX model"});
}

TEST(RefusedFile, Text) {
  expectRefused(importFile(writeBytes("this is not a protobuf")),
                {"is not an ONNX file"});
}

TEST(RefusedFile, TruncatedAnywhere) {
  std::string bytes = parse(kSmall).SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Imported imported = importFile(writeBytes(bytes.substr(0, size)));
    EXPECT_FALSE(imported.status.ok()) << size << " of " << bytes.size();
  }
}

TEST(RefusedFile, AnyByteChangedDoesNotCrash) {
  std::string bytes = parse(kSmall).SerializeAsString();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int change : {1, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] ^= change;
      importFile(writeBytes(damaged));
    }
  }
}

TEST(RefusedFile, IrVersion) {
  onnx::ModelProto model = parse(kSmall);
  model.set_ir_version(99);
  expectRefused(importFile(write(model)), {"IR version 99", "3 to 13"});
}

TEST(RefusedFile, Opset) {
  onnx::ModelProto model = parse(kSmall);
  model.mutable_opset_import(0)->set_version(6);
  expectRefused(importFile(write(model)), {"operator set 6", "7 to 27"});
  model.clear_opset_import();
  expectRefused(importFile(write(model)), {"does not import the ai.onnx"});
}

TEST(RefusedFile, EquationsThatOnnxCannotInfer) {
  // A result whose label no term has, of no dimensions; and ellipses that stand
  // for other numbers of them.
  expectRefused(
      R"(<ir_version: 10, opset_import: ["" : 18]>
g (float x) => (float[2] y) {
  [sum] y = Einsum <equation = "->b"> (x)
})",
      {"node 'sum'", "label 'b' of the result is in no term"});
  expectRefused(
      R"(<ir_version: 10, opset_import: ["" : 18]>
g (float[2] x, float[3, 4, 2] z) => (float[2] y) {
  [sum] y = Einsum <equation = "...a,...b,c->a"> (x, z)
})",
      {"node 'sum'", "3 terms for 2 inputs"});
}

TEST(RefusedFile, ForeignDomainsAreListedTogether) {
  expectRefused(
      R"(<ir_version: 10, opset_import: ["" : 18, "com.microsoft" : 1]>
g (float[4] x) => (float[4] loss) {
  [one] a = com.microsoft.FastGelu(x)
  [two] loss = com.microsoft.Other(a)
})",
      {"com.microsoft.FastGelu (node 'one')", "com.microsoft.Other"});
}

TEST(RefusedFile, TrainingInfo) {
  onnx::ModelProto model = parse(kSmall);
  model.add_training_info();
  expectRefused(importFile(write(model)), {"TrainingInfoProto"});
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST(RefusedGraph, UndefinedValuesAreListedTogether) {
  onnx::ModelProto model = parse(kSmall);
  model.mutable_graph()->mutable_node(0)->set_input(0, "ghost");
  model.mutable_graph()->mutable_node(0)->set_input(1, "phantom");
  expectRefused(importFile(write(model)), {"'ghost'", "'phantom'"});
}

TEST(RefusedGraph, Cycle) {
  onnx::ModelProto model = parse(kSmall);
  model.mutable_graph()->mutable_node(0)->set_input(0, "loss");
  expectRefused(importFile(write(model)), {"cycle"});
}

TEST(RefusedGraph, DefinedTwice) {
  onnx::ModelProto model = parse(kSmall);
  model.mutable_graph()->mutable_node(0)->set_output(0, "loss");
  expectRefused(importFile(write(model)), {"'loss'", "defined already"});
}

TEST(RefusedGraph, AllUnsupportedNodesAtOnceWithTheirPath) {
  expectRefused(R"(
g (float[4, 8] x) => (float loss, float[4, 8] other)
<float[8, 8] w = {)" +
                    [] {
                      std::string list = "1";
                      for (int i = 1; i < 64; ++i) {
                        list += ", 1";
                      }
                      return list;
                    }() +
                    R"(}> {
  a = MatMul(x, w)
  [det] b = Det(a)
  [hann] c = LRN <size = 3> (x)
  other = Identity(c)
  loss = ReduceMean <keepdims = 0> (b)
})",
                {"2 nodes cannot be imported", "node 'hann' (LRN)",
                 "[not on the gradient path]", "node 'det' (Det)",
                 "[on the gradient path]"});
}

// A node after a node that failed is checked with the types that ONNX infers.
TEST(RefusedGraph, NodesBehindUnsupportedOnesAreCheckedToo) {
  expectRefused(
      R"(
g (float[2, 3, 8, 8] x, int64[2, 3, 8, 8] i, float[3] s) => (float[2, 3, 8, 8] y, float[2, 3, 8, 8] z, int64[4, k] n) {
  r = Constant <value_float = 1.5> ()
  t = Constant <value = bool {1}> ()
  [times] a = ScatterElements <reduction = "mean"> (x, i, x)
  [drop] b = Dropout(a, r, t)
  [deep] y = ScatterElements <reduction = "mean"> (b, i, b)
  [many] n = NonZero(a)
  [fits] z = Mul(b, s)
})",
      {"5 nodes cannot be imported", "nodes 'times', 'deep' (ScatterElements)",
       "node 'drop' (Dropout)", "node 'many' (NonZero)", "node 'fits' (Mul)"});
}

/// A model has twenty of a kind: what is wrong with them is said once.
TEST(RefusedGraph, WhatIsWrongWithManyIsSaidOnce) {
  std::string nodes, last = "x";
  for (int i = 0; i < 20; ++i) {
    std::string next = "y" + std::to_string(i);
    nodes += "  [n" + std::to_string(i) + "] " + next +
             " = ScatterElements <reduction = \"mean\"> (" + last + ", i, x)\n";
    last = next;
  }
  Imported imported = import("g (float[4] x, int64[4] i) => (float[4] " + last +
                             ") {\n" + nodes + "}");
  expectRefused(imported, {"20 nodes cannot be imported:\n  nodes 'n0', 'n1', "
                           "'n2', 'n3', 'n4' and 15 more (ScatterElements): "
                           "reduction 'mean' is not one of"});
  std::string message = imported.error();
  EXPECT_EQ(message.find("'mean' is not"), message.rfind("'mean' is not"));
}

TEST(RefusedGraph, ScattersThatMeanNothing) {
  expectRefused(R"(
g (float[4] x, int64[4] i) => (float[4] y) {
  y = ScatterElements <reduction = "mean"> (x, i, x)
})",
                {"'mean' is not one of 'none', 'add', 'mul', 'max' and 'min'"});
  expectRefused(R"(
g (bool[4] x, int64[4] i) => (bool[4] y) {
  y = ScatterElements <reduction = "add"> (x, i, x)
})",
                {"cannot add or multiply booleans"});
}

TEST(RefusedGraph, UnknownOperatorAndAttribute) {
  expectRefused("g (float[4] x) => (float[4] y) { y = Wobble(x) }",
                {"Wobble", "no such operator"});
  expectRefused("g (float[4] x) => (float[4] y) { y = Relu <wobble = 1> (x) }",
                {"Relu", "malformed", "wobble"});
}

TEST(RefusedGraph, UnsupportedTypes) {
  expectRefused("g (string[4] x) => (string[4] y) { y = Identity(x) }",
                {"input 'x'", "STRING"});
  expectRefused(
      "g (float[4] x) => (float8e5m2[4] y) { y = Cast <to = 19> (x) }",
      {"FLOAT8E5M2"});
}

// Before the schema's types were asked for, this made an invalid program.
TEST(RefusedGraph, TypesThatTheOperatorDoesNotTake) {
  expectRefused(
      "g (uint8[3, 4] x, float[4] s) => (float[3, 4] y) "
      "{ [norm] y = LayerNormalization <axis = 1> (x, s) }",
      {"node 'norm' (LayerNormalization)",
       "input 0 ('x') is UINT8, but 'X' must be one of tensor(bfloat16), "});
  expectRefused(import(R"(
g (float[2, 3] x, float[2, 3] p) => (float y) {
  [soft] y = SoftmaxCrossEntropyLoss(x, p)
})"),
                {"node 'soft' (SoftmaxCrossEntropyLoss)",
                 "input 1 ('p') is FLOAT, but 'labels' must be one of",
                 "probabilities", "-(p * x.log_softmax(1)).sum(1).mean()"});
  expectRefused("g (float[4] x, int64[4] n) => (float[4] y) "
                "{ [sum] y = Add(x, n) }",
                {"node 'sum' (Add)",
                 "input 1 ('n') is INT64, but input 0 ('x') is FLOAT"});
}

TEST(RefusedGraph, QuantizedModels) {
  expectRefused(
      R"(
g (float[4] x, float s, uint8 z) => (float[4] y) {
  q = QuantizeLinear (x, s, z)
  [back] y = DequantizeLinear (q, s, z)
})",
      {"node 'back' (DequantizeLinear)",
       "not supported: it is of a quantized model. Train the model in "
       "floats, and quantize it afterwards"});
}

TEST(RefusedGraph, WhatANewerOperatorSetHas) {
  expectRefused(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { y = Gelu(x) })",
                {"no such operator in ai.onnx 17; operator set 20 has it: "
                 "export again with opset_version=20"});
  // Not where it would be refused there too.
  Imported imported = import(R"(<ir_version: 8, opset_import: ["" : 18]>
g (string[4] x) => (bool[4] y) {
  y = RegexFullMatch <pattern = "a"> (x) })");
  EXPECT_EQ(imported.error().find("opset_version"), std::string::npos)
      << imported.error();
  expectRefused(R"(<ir_version: 8, opset_import: ["" : 13]>
g (int32[4] x) => (int32[4] y) { y = Relu(x) })",
                {"input 0 ('x') is INT32, but 'X' must be one of",
                 "; operator set 14 takes it: export again with "
                 "opset_version=14"});
}

// ONNX's inference of what a failed node would give divides by the heads, and
// takes dims at the axis.
TEST(RefusedGraph, AttributesThatInferenceTrusts) {
  expectRefused(R"(<ir_version: 11, opset_import: ["" : 23]>
g (float[2, 4, 24] q, float[2, 6, 24] k) => (float[a, b, c] y) {
  [att] y = Attention <q_num_heads = 4, kv_num_heads = 0> (q, k, k)
})",
                {"node 'att' (Attention)"});
  expectRefused(R"(
g (float[3, 4] x, float[4] s) => (float[3, 4] y, float[a, b] mean) {
  [norm] y, mean = LayerNormalization <axis = -900000000> (x, s)
})",
                {"node 'norm' (LayerNormalization)", "axis"});
}

TEST(RefusedGraph, ConcatOfOtherRanks) {
  expectRefused("g (float[2, 3] x, float[3] y) => (float[a, b] z) "
                "{ [cat] z = Concat <axis = 1> (x, y) }",
                {"node 'cat' (Concat)", "shapes 2x3 and 3"});
  expectRefused(R"(
g (float[3] y) => (float[a, b] z) {
  none = Constant <value = float[2, 0] {}> ()
  [cat] z = Concat <axis = 1> (none, y)
})",
                {"node 'cat' (Concat)", "shapes 2x0 and 3"});
}

TEST(RefusedGraph, ShapesThatDoNotFit) {
  expectRefused("g (float[4, 8] x, float[4, 8] y) => (float[4, 4] z) "
                "{ [mm] z = MatMul(x, y) }",
                {"node 'mm' (MatMul)", "4x8", "do not fit"});
  expectRefused(
      "g (float[4, 8] x, float[3, 8] y) => (float[4, 8] z) { z = Add(x, y) }",
      {"4x8", "3x8", "broadcast"});
}

TEST(RefusedGraph, DataDependentShape) {
  expectRefused("g (float[4, 8] x, int64[2] s) => (float[a, b] z) "
                "{ [r] z = Reshape(x, s) }",
                {"node 'r' (Reshape)", "shape", "must be known while compiling",
                 "input 's'"});
  expectRefused("g (float[4, 8] x, bool[4] m) => (int64[1, n] z) "
                "{ [nz] z = NonZero(m) }",
                {"node 'nz' (NonZero)", "how many elements are not 0",
                 "input 'm'", "ignore_index"});
}

TEST(RefusedGraph, AConstantThatOnlyTheProgramComputes) {
  expectRefused("g (float[4] x) => (float[a, b] y) "
                "<int64[3] dims = {2, 3, 2}, bool[3] which = {1, 0, 1}> {"
                " [pick] s = Compress <axis = 0> (dims, which)"
                " t = Identity(s) [r] y = Reshape(x, t) }",
                {"node 'r' (Reshape)", "the result of node 'pick' (Compress), "
                                       "which is the same in each step"});
}

TEST(RefusedGraph, AverageOfTooManyWindows) {
  expectRefused(
      "g (float[1, 1, 4, 2147483648] x) => (float[a, b, c, d] y) { [p] y = "
      "AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> "
      "(x) }",
      {"node 'p' (AveragePool)", "has 1073741824 windows on an axis, of which "
                                 "some reach beyond the input"});
}

TEST(RefusedGraph, HugeDims) {
  ImportOptions options;
  options.dims = {{"n", int64_t(1) << 40}, {"m", int64_t(1) << 40}};
  expectRefused("g (float[n, m] x) => (float[n, m] y) { y = Relu(x) }",
                {"more than 2^46 elements"}, options);
}

TEST(RefusedGraph, ConstantsAboveTheLimitWithoutAPattern) {
  // 20,000 numbers without any pattern, made by a node, not an initializer.
  onnx::ModelProto model = parse(
      "g (float[20000] x) => (float[20000] y) { c = Constant <value_int = 1> "
      "() y = Add(x, c) }");
  auto *node = model.mutable_graph()->mutable_node(0);
  node->clear_attribute();
  auto *attribute = node->add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute->mutable_t()->add_dims(20000);
  for (int i = 0; i < 20000; ++i) {
    attribute->mutable_t()->add_float_data(static_cast<float>(i * i % 997));
  }
  ImportOptions options;
  options.require_loss = false;
  expectRefused(importFile(write(model), options),
                {"80000 bytes", "make it an initializer"});
}

TEST(RefusedGraph, NumbersThatNoIntegerHolds) {
  // Any answer will do, but the conversion must be defined.
  for (const char *number : {"1e30", "-1e30"}) {
    std::string text = R"(
g (float[4] x) => (float[4] y) {
  f = Constant <value_float = NUMBER> ()
  i = Cast <to = 7> (f)
  s = Cast <to = 1> (i)
  y = Mul(x, s)
})";
    text.replace(text.find("NUMBER"), 6, number);
    EXPECT_TRUE(import(text).status.ok());
  }
  expectRefused(R"(
g (float[1, 1, 4] x) => (float[1, 1, a] y) {
  s = Constant <value_floats = [1.0, 1.0, 1e38]> ()
  [big] y = Resize(x, , s)
})",
                {"node 'big' (Resize)"});
}

TEST(RefusedGraph, EmptyConstantsWhereOneNumberIsExpected) {
  expectRefused(R"(
g (float[4, 4] x) => (float[4, 4] y) {
  k = Constant <value = int64[0] {}> ()
  [tri] y = Trilu(x, k)
})",
                {"node 'tri' (Trilu)", "of shape 0 has no element 0"});
}

TEST(RefusedGraph, AxesGivenTwice) {
  expectRefused(R"(
g (float[4, 2] x) => (float[2] y) {
  axes = Constant <value = int64[2] {0, -2}> ()
  [mean] y = ReduceMean <keepdims = 0> (x, axes)
})",
                {"node 'mean' (ReduceMean)", "axis 0 is given twice"});
}

TEST(RefusedGraph, IndicesOutsideTheirDim) {
  expectRefused(
      R"(
g (float[4, 5] x) => (float[1] y) {
  at = Constant <value = int64[1, 2] {0, 7}> ()
  [nd] y = GatherND(x, at)
})",
      {"node 'nd' (GatherND)", "index 7 is outside of 5 elements of 'x'"});
}

TEST(RefusedGraph, DropoutOfEverything) {
  expectRefused(R"(
g (float[4] x) => (float[4] y) {
  r = Constant <value_float = 1.0> ()
  t = Constant <value = bool {1}> ()
  [drop] y = Dropout(x, r, t)
})",
                {"node 'drop' (Dropout)", "ratio 1 is not at least 0"});
}

} // namespace

} // namespace zerograph::frontend::testing
