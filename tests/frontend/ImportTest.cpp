//===- ImportTest.cpp - what the importer decides and emits ---------------===//

#include "tests/frontend/Evaluate.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace zerograph::frontend::testing {

namespace {

std::string numbers(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    list += (i == 0 ? "" : ", ") + std::to_string(i % 7);
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

TEST(Emission, LocationsAreOnnxNodeNames) {
  Imported imported =
      import("g (float[4] x) => (float[4] y) { [act] y = Tanh(x) }");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  imported.module.get()->walk([](mlir::zg::nn::UnaryOp op) {
    EXPECT_EQ(mlir::zg::nn::nameOf(op.getLoc()), "act");
  });
}

TEST(Emission, BroadcastsAreExplicit) {
  Imported imported = import("g (float[4, 8] x, float[8] b) => (float[4, 8] y)"
                             "{ y = Add(x, b) }");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("nn.reshape %b : tensor<8xf32> -> tensor<1x8xf32>"));
  EXPECT_TRUE(imported.has("tensor<1x8xf32> -> tensor<4x8xf32>"));
}

TEST(Emission, ConstantPowersAreProducts) {
  Imported imported = import(R"(
g (float[4] x) => (float[4] y, float[4] z) {
  two = Constant <value_float = 2.0> ()
  half = Constant <value_float = 0.5> ()
  y = Pow(x, two)
  z = Pow(x, half)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_FALSE(imported.has(" pow "));
  EXPECT_TRUE(imported.has("sqrt"));
}

TEST(Emission, MatMulOfManyRowsIsOneProduct) {
  Imported imported = import("g (float[2, 3, 8] x, float[8, 5] w) => "
                             "(float[2, 3, 5] y) { y = MatMul(x, w) }");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(
      imported.has("tensor<6x8xf32>, tensor<8x5xf32> -> tensor<6x5xf32>"));
}

TEST(Emission, TransposedWeightsBecomeAFlag) {
  Imported imported = import(R"(
g (float[4, 8] x, float[5, 8] w) => (float[4, 5] y) {
  t = Transpose <perm = [1, 0]> (w)
  y = MatMul(x, t)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("transpose_b"));
  EXPECT_EQ(imported.count("nn.transpose"), 0);
}

TEST(Emission, EvenlySpacedConstantRowsAreASlice) {
  Imported imported = import(R"(
g (float[16, 8] t) => (float[4, 8] y) {
  rows = Constant <value_ints = [1, 4, 7, 10]> ()
  y = Gather(t, rows)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.gather"), 0);
  EXPECT_TRUE(imported.has("nn.slice %t [1, 0] step [3, 1]"));
}

// PyTorch writes ones before a product that leaves out what was there, where
// places may repeat: no place may get their sum.
TEST(Emission, ScatterReplacesByTheLast) {
  Imported imported = import(R"(
g (float[4, 8] x, int64[3, 1] i, float[3, 8] u) => (float[4, 8] y) {
  y = ScatterND(x, i, u)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("nn.scatter set"));
  EXPECT_EQ(imported.count("nn.scatter"), 1);
}

// As where one tensor was given for two inputs: the exporter wires both to one.
TEST(Emission, AnInputThatNothingReadsIsSaid) {
  Imported imported = import(R"(
g (float[4] x, float[4] y) => (float[4] z) {
  n = Shape(x) r = Reshape(y, n) z = Tanh(r)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_EQ(imported.report.notes.size(), 1u);
  EXPECT_NE(imported.report.notes[0].find("no value of input 'x' is used"),
            std::string::npos)
      << imported.report.notes[0];
}

TEST(Emission, DeadNodesAreNotImported) {
  Imported imported =
      import("g (float[4] x) => (float[4] y) { y = Tanh(x) z = Wobble(x) }");
  EXPECT_TRUE(imported.status.ok()) << imported.error();
}

TEST(Emission, NodesMayStandInAnyOrder) {
  onnx::ModelProto model =
      parse("g (float[4] x) => (float[4] y) { a = Tanh(x) y = Exp(a) }");
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importFile(write(model), options);
  EXPECT_TRUE(imported.status.ok()) << imported.error();
}

TEST(Emission, LocalFunctionsAreInlined) {
  Imported imported = import(
      R"(<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[4] x) => (float[4] y) { y = own.twice(x) }
<domain: "own", opset_import: ["" : 18]>
twice (a) => (b) { b = Add(a, a) })");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("nn.binary"));
}

// The second query sees nothing.
TEST(Emission, AttentionOfNothingIsZero) {
  const char *const kInputs =
      "<ir_version: 11, opset_import: [\"\" : 23]>\n"
      "g (float[1, 1, 2, 2] q, float[1, 1, 2, 2] k, float[1, 1, 2, 2] v) => "
      "(float[1, 1, 2, 2] y) {";
  Imported masked = import(absl::StrCat(kInputs, R"(
  m = Constant <value = bool[2, 2] {1, 0, 0, 0}> ()
  y = Attention(q, k, v, m)
})"));
  EXPECT_EQ(run(masked, {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}),
            (Numbers{9, 10, 0, 0}));
  // A value that is no number for another reason stays so.
  Numbers broken =
      run(masked, {{std::nan(""), 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}});
  EXPECT_TRUE(std::isnan(broken[0]) && std::isnan(broken[1]));
  EXPECT_EQ(broken[2], 0);
  // Without a mask nothing can be hidden.
  Imported open = import(absl::StrCat(kInputs, "y = Attention(q, k, v) }"));
  EXPECT_EQ(open.count("nn.select"), 0);
}

TEST(Emission, SplitsThroughSequences) {
  Imported imported = import(R"(
g (float[4, 6] x) => (float[4, 2] y) {
  size = Constant <value_int = 2> ()
  last = Constant <value_int = -1> ()
  parts = SplitToSequence <axis = 1> (x, size)
  y = SequenceAt(parts, last)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("nn.slice %x [0, 4]"));
}

/// As PyTorch's chunk(4) of six elements is exported.
TEST(Emission, PartsOfASequenceMayBeEmpty) {
  Imported imported = import(R"(
g (float[4, 6] x) => (float[4, 2] y) <int64[4] sizes = {2, 2, 2, 0}> {
  third = Constant <value_int = 2> ()
  parts = SplitToSequence <axis = 1> (x, sizes)
  y = SequenceAt(parts, third)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("nn.slice %x [0, 4]"));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

TEST(Constants, LargeRangesAreIota) {
  Imported imported = import(R"(
g (float[100000] x) => (int64[100000] y) {
  s = Shape(x)
  n = Squeeze(s)
  zero = Constant <value_int = 3> ()
  step = Constant <value_int = 2> ()
  end = Constant <value_int = 200003> ()
  y = Range(zero, end, step)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.iota"), 1);
}

TEST(Constants, LargeOnesWithoutAPatternAreRecomputed) {
  // (i * i) mod 7 over 50,000 elements: 400 kB that no iota alone gives.
  Imported imported = import(R"(
g (int64[50000] x) => (int64[50000] y) {
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  end = Constant <value_int = 50000> ()
  seven = Constant <value_int = 7> ()
  i = Range(zero, end, one)
  square = Mul(i, i)
  m = Mod(square, seven)
  y = Add(x, m)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.iota"), 1);
  EXPECT_TRUE(imported.has("mod"));
}

TEST(Constants, CausalMaskBecomesACompare) {
  Imported imported = import(R"(
g (float[2, 300, 300] x) => (float[2, 300, 300] y) {
  shape = Constant <value_ints = [300, 300]> ()
  ones = ConstantOfShape <value = float {1}> (shape)
  lower = Trilu <upper = 0> (ones)
  hidden = Constant <value_float = -1e9> ()
  zero = Constant <value_float = 0.0> ()
  seen = Cast <to = 9> (lower)
  mask = Where(seen, zero, hidden)
  y = Add(x, mask)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.iota"), 2);
  EXPECT_EQ(imported.count("nn.compare"), 1);
  imported.module.get()->walk([](mlir::zg::nn::ConstantOp constant) {
    EXPECT_TRUE(constant.getValue().isSplat());
  });
}

TEST(Constants, DiagonalsMayLieFarAway) {
  Imported imported = import(R"(
g (float[2, 3] x) => (float[2, 3] y, float[2, 3] low, float[2, 3] high) {
  far = Constant <value_int = 9223372036854775807> ()
  m = Constant <value = float[2, 3] {1, 2, 3, 4, 5, 6}> ()
  low = Trilu <upper = 0> (m, far)
  high = Trilu (m, far)
  eye = EyeLike <k = 9223372036854775807> (m)
  triangle = Trilu <upper = 0> (x, far)
  y = Add(triangle, eye)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("dense<[[1.000000e+00, 2.000000e+00, 3.000000e+00], "
                           "[4.000000e+00, 5.000000e+00, 6.000000e+00]]>"));
  EXPECT_TRUE(imported.has("dense<0.000000e+00>"));
}

// As kernels compute them: saturating, 0 of NaN; -0 less than +0 in either
// order, and NaN wins.
TEST(Constants, FoldedAsKernelsCompute) {
  Imported imported = import(R"(
g () => (int8[5] y, float[4] z, float[1] w) {
  x = Constant <value = float[5] {300.0, -300.0, nan, 1.75, -1.75}> ()
  y = Cast <to = 3> (x)
  a = Constant <value = float[4] {0.0, -0.0, nan, 1.0}> ()
  b = Constant <value = float[4] {-0.0, 0.0, 1.0, nan}> ()
  z = Max(a, b)
  c = Constant <value = float[3] {0.0, -0.0, 0.0}> ()
  w = ReduceMin <keepdims = 1> (c)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  std::vector<mlir::DenseElementsAttr> constants;
  imported.module.get()->walk([&](mlir::zg::nn::ConstantOp constant) {
    constants.push_back(
        mlir::cast<mlir::DenseElementsAttr>(constant.getValue()));
  });
  ASSERT_EQ(constants.size(), 3u) << imported.text();
  std::vector<int8_t> bytes(constants[0].value_begin<int8_t>(),
                            constants[0].value_end<int8_t>());
  EXPECT_EQ(bytes, (std::vector<int8_t>{127, -128, 0, 1, -1}));
  std::vector<float> most(constants[1].value_begin<float>(),
                          constants[1].value_end<float>());
  EXPECT_TRUE(most[0] == 0 && !std::signbit(most[0]));
  EXPECT_TRUE(most[1] == 0 && !std::signbit(most[1]));
  EXPECT_TRUE(std::isnan(most[2]) && std::isnan(most[3]));
  float least = *constants[2].value_begin<float>();
  EXPECT_TRUE(least == 0 && std::signbit(least));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

TEST(Inputs, SamplesFollowTheLeadingSymbolicDim) {
  ImportOptions options;
  options.dims = {{"batch", 4}, {"other", 4}};
  Imported imported = import(R"(
g (float[batch, 8] x, float[batch] w, float[other, 8] y, float[8] z) =>
  (float[batch, 8] a, float[batch] b) {
  s = Add(x, y)
  a = Add(s, z)
  b = Neg(w)
})",
                             options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.input(0).getPerSample());
  EXPECT_TRUE(imported.input(1).getPerSample());
  EXPECT_FALSE(imported.input(2).getPerSample());
  EXPECT_FALSE(imported.input(3).getPerSample());
  EXPECT_EQ(imported.report.batch_dim, "batch");
  EXPECT_EQ(imported.report.dims["batch"],
            (std::vector<std::string>{"x[0]", "w[0]"}));
}

TEST(Inputs, IndicesAreBoundedThroughReshapeAndCast) {
  Imported imported = import(R"(
g (int32[2, 6] ids, float[50, 8] table) => (float[12, 8] y) {
  wide = Cast <to = 7> (ids)
  flat = Constant <value_ints = [-1]> ()
  rows = Reshape(wide, flat)
  y = Gather(table, rows)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.input(0).getMin(), -50);
  EXPECT_EQ(imported.input(0).getMax(), 49);
}

TEST(Inputs, InitializersAmongTheInputsAreNotFed) {
  onnx::ModelProto model = parse(
      "g (float[4] x, float[4] w) => (float loss) <float[4] w2 = {1, 2, 3, 4}> "
      "{ y = Mul(x, w) z = Mul(y, w2) loss = ReduceMean <keepdims = 0> (z) }");
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  model.mutable_graph()->mutable_initializer(1)->set_name("w");
  std::string path = write(model);
  auto inputs = readInputs(path);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->size(), 1u);
  Imported imported = importFile(path);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.report.parameters.size(), 2u);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

TEST(Loss, SpatialLabelsIgnoredLabelsAndMean) {
  ImportOptions options;
  options.dims = {{"n", 2}};
  Imported imported = import(R"(
g (float[n, 5, 3, 4] x, int64[n, 3, 4] labels) => (float loss)
<float[4] w = {1, 2, 3, 4}> {
  s = Mul(x, w)
  loss = SoftmaxCrossEntropyLoss <ignore_index = -1, reduction = "mean"> (s, labels)
})",
                             options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("tensor<24x5xf32>, tensor<24x1xi64>"));
  EXPECT_EQ(imported.input(1).getMin(), 0);
  EXPECT_EQ(imported.input(1).getMax(), 4);
  EXPECT_EQ(imported.input(1).getIgnored(), llvm::ArrayRef<int64_t>(-1));
}

// One use may index with what another ignores; a value is legal if all of them
// allow it.
TEST(Loss, IgnoredLabelsAreLegalWhereEveryUseAllowsThem) {
  Imported imported = import(
      "g (float[6, 5] x, int64[6] labels, int64[6] others) => (float loss) "
      "<float[5] w = {" +
      numbers(5) + R"(}> {
  s = Mul(x, w)
  a = SoftmaxCrossEntropyLoss <ignore_index = -7> (s, labels)
  b = SoftmaxCrossEntropyLoss <ignore_index = -100> (s, labels)
  c = SoftmaxCrossEntropyLoss <ignore_index = -1> (s, others)
  f = Gather <axis = 1> (s, others)
  d = ReduceSum <keepdims = 0> (f)
  e = Add(a, b)
  h = Add(c, d)
  loss = Add(e, h)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.input(1).getIgnored().empty());
  EXPECT_EQ(imported.input(2).getMin(), 0);
  EXPECT_EQ(imported.input(2).getIgnored(), llvm::ArrayRef<int64_t>(-1));
}

// Columns of one input may index tables of different sizes.
TEST(Inputs, PartsHaveTheirOwnRanges) {
  Imported imported =
      import("g (int64[4, 2] ids) => (float loss) <float[5] w = {" +
             numbers(5) + "}, float[3] v = {" + numbers(3) +
             R"(}> {
  a = Constant <value = int64 {0}> ()
  b = Constant <value = int64 {1}> ()
  first = Gather <axis = 1> (ids, a)
  second = Gather <axis = 1> (ids, b)
  x = Gather (w, first)
  y = Gather (v, second)
  z = Mul(x, y)
  loss = ReduceSum <keepdims = 0> (z)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.input(0).getMin(), -5);
  EXPECT_EQ(imported.input(0).getMax(), 4);
}

// A sequence's dim may come first; samples' dim leads only.
TEST(Inputs, TheDimOfSamplesStandsBehindInNoInput) {
  ImportOptions options;
  options.dims = {{"batch", 2}, {"seq", 3}};
  Imported imported = import(R"(
g (float[seq] p, float[batch, seq] x) => (float loss) <float[3] w = {2, 3, 4}> {
  a = Mul(p, x)
  b = Mul(a, w)
  loss = ReduceSum <keepdims = 0> (b)
})",
                             options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.report.batch_dim, "batch");
  EXPECT_FALSE(imported.input(0).getPerSample());
  EXPECT_TRUE(imported.input(1).getPerSample());
}

TEST(Loss, WithoutIgnoredLabelsNothingIsMasked) {
  Imported imported = import(
      "g (float[6, 5] x, int64[6] labels) => (float loss) <float[5] w = {" +
      numbers(5) + R"(}> {
  s = Mul(x, w)
  loss = SoftmaxCrossEntropyLoss (s, labels)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.select"), 0);
}

TEST(Loss, OfOneElementIsAScalar) {
  Imported imported = importFile(write(parse(R"(
g (float[4] x) => (float[1] loss) <float[4] w = {1, 2, 3, 4}> {
  y = Mul(x, w)
  loss = ReduceMean <keepdims = 1> (y)
})")));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("tensor<f32> {nn.output = \"loss\"}"));
}

} // namespace

} // namespace zerograph::frontend::testing
