//===- InputsTest.cpp - what an input's dims and values are bound to ------===//

#include "tests/frontend/Evaluate.h"

namespace zerograph::frontend::testing {

namespace {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A model that depends on a sample rate, as models of speech do.
const char *const kRates = R"(
g (float[2] x, int64 rate) => (float[2] y) {
  narrow = Constant <value_int = 8000> ()
  is_narrow = Equal(rate, narrow)
  y = If (is_narrow) <
    then_branch = a () => (float[2] p) { p = Neg(x) },
    else_branch = b () => (float[2] q) { q = Abs(x) }
  >
})";

ImportOptions bound(const std::string &name, const std::string &value) {
  ImportOptions options;
  options.inputs[name] = value;
  return options;
}

TEST(InputValues, DecideABranch) {
  expectRefused(kRates, {"node 'y' (If): the condition must be known",
                         "input 'rate'", "--input NAME=VALUE"});
  for (const auto &[rate, expected] :
       {std::pair("8000", Numbers{-1, 2}), std::pair("16000", Numbers{1, 2})}) {
    Imported imported = import(kRates, bound("rate", rate));
    EXPECT_EQ(run(imported, {{1, -2}}), expected) << rate;
    EXPECT_EQ(imported.function().getNumArguments(), 1u);
    EXPECT_TRUE(imported.report.warnings.empty());
  }
}

TEST(InputValues, AreOfTheirInputsType) {
  auto value = [](const std::string &type, const std::string &text) {
    return import("g (float x, " + type +
                      " v) => (float y) { f = Cast <to = 1> (v) y = Mul(x, f) "
                      "}",
                  bound("v", text));
  };
  EXPECT_EQ(run(value("float", "-2.5"), {{1}}), Numbers{-2.5});
  EXPECT_EQ(run(value("double", "5e-1"), {{2}}), Numbers{1});
  EXPECT_EQ(run(value("int32[1, 1]", "-3"), {{2}}), Numbers{-6});
  EXPECT_EQ(run(value("bool", "true"), {{2}}), Numbers{2});
  EXPECT_EQ(run(value("bool", "0"), {{2}}), Numbers{0});
  expectRefused(value("int64", "1.5"),
                {"--input v=1.5: input 'v' is INT64: expected a whole number"});
  expectRefused(value("uint8", "256"), {"UINT8: the number does not fit"});
  expectRefused(value("float", "1e99"), {"FLOAT: the number does not fit"});
  expectRefused(value("float", "much"), {"FLOAT: expected a number"});
  expectRefused(value("bool", "2"), {"BOOL: expected true or false"});
  expectRefused(
      value("float[2]", "1"),
      {"--input v=1: input 'v' is FLOAT: it has the shape [2]", "--data"});
  expectRefused(value("float[n, 1]", "1"), {"it has the shape [n, 1]"});
}

TEST(InputValues, OfNoInputAreRefusedAllAtOnce) {
  ImportOptions options = bound("rat", "8000");
  options.inputs["x"] = "1";
  expectRefused(kRates,
                {"--input rat=8000: no input has that name; did you mean "
                 "'rate'?",
                 "--input x=1: input 'x' is FLOAT"},
                options);
}

TEST(InputValues, ThatNothingReadsAreSaid) {
  Imported imported =
      import("g (float x, int64 rate) => (float y) { y = Abs(x) }",
             bound("rate", "1"));
  ASSERT_EQ(imported.report.warnings.size(), 1u);
  EXPECT_EQ(imported.report.warnings[0],
            "--input rate has no effect: no node reads that input");
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

/// Some exporters write -1 for a size that they do not know.
const char *const kUnknown = R"(
g (float[1, 3] x, float[1, 1] t, float[1, 3] table) => (float[1, 3] y) {
  p = Add(x, t)
  s = ReduceSum(table)
  y = Add(p, s)
})";

onnx::ModelProto withUnknownDims(bool table) {
  std::string header = "<ir_version: 10, opset_import: [\"\" : 18]>";
  onnx::ModelProto model = parse(header + kUnknown);
  auto forget = [](onnx::ValueInfoProto *info, int axis) {
    info->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(axis)
        ->set_dim_value(-1);
  };
  auto *graph = model.mutable_graph();
  forget(graph->mutable_input(0), 0);
  forget(graph->mutable_input(0), 1);
  forget(graph->mutable_input(1), 0);
  if (table) {
    forget(graph->mutable_input(2), 0);
  }
  forget(graph->mutable_output(0), 0);
  return model;
}

Imported importUnknown(const std::map<std::string, int64_t> &dims,
                       bool table = false) {
  ImportOptions options;
  options.require_loss = false;
  options.dims = dims;
  return importFile(write(withUnknownDims(table)), options);
}

TEST(UnknownDims, HaveTheirPlaceForAName) {
  expectRefused(importUnknown({}),
                {"dims without a size; give each with --dim NAME=SIZE",
                 "x.0 (x[0])", "x.1 (x[1])", "t.0 (t[0])"});
  auto inputs = readInputs(write(withUnknownDims(false)));
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(batchDim(*inputs), "x.0");
}

/// Paddle's exporter calls each so.
TEST(UnknownDims, ThatAreCalledAlikeMayDiffer) {
  onnx::ModelProto model = parse(R"(
g (float[n, 3, h, w] x) => (float[a, b, c, d] y) { y = Neg(x) })");
  for (auto &dim : *model.mutable_graph()
                        ->mutable_input(0)
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->mutable_shape()
                        ->mutable_dim()) {
    if (dim.has_dim_param()) {
      dim.set_dim_param("?");
    }
  }
  absl::StatusOr<std::vector<InputSignature>> inputs = readInputs(write(model));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto &dims = inputs->front().dims;
  ASSERT_EQ(dims.size(), 4u);
  EXPECT_NE(dims[2].name, dims[3].name);
}

TEST(UnknownDims, InFrontAreTheSamples) {
  Imported imported = importUnknown({{"x.0", 4}, {"x.1", 3}});
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.input(0).getPerSample());
  EXPECT_TRUE(imported.input(1).getPerSample());
  EXPECT_FALSE(imported.input(2).getPerSample());
  EXPECT_TRUE(imported.has("tensor<4x1xf32>"));
  EXPECT_TRUE(
      imported.function().getResultAttr(0, mlir::zg::nn::kPerSampleAttr));
}

TEST(UnknownDims, InFrontMayBeGivenAnotherSize) {
  Imported imported =
      importUnknown({{"x.0", 4}, {"x.1", 3}, {"table.0", 7}}, true);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.input(1).getPerSample());
  EXPECT_FALSE(imported.input(2).getPerSample());
}

TEST(FixedBatch, IsWhatMicroBatchMustSay) {
  const char *const kFixed =
      "g (float[4, 2] x) => (float[4, 2] y) { y = Abs(x) }";
  ImportOptions options;
  options.micro_batch = 4;
  Imported same = import(kFixed, options);
  EXPECT_TRUE(same.status.ok()) << same.error();
  options.micro_batch = 8;
  expectRefused(kFixed,
                {"--micro-batch 8, but the file fixes 4 samples (input 'x')"},
                options);
}

// Labels may be of a part of each sample, as of what a mask hides.
TEST(FixedBatch, IsThatOfWhichTheFileSaysSo) {
  onnx::ModelProto model = parse(R"(
g (float[3, 5] table, float[4, 3] x, int64[12] labels) => (float loss) {
  scores = MatMul(x, table)
  each = Constant <value_ints = [12, 1]> ()
  flat = Constant <value_ints = [12, 5]> ()
  part = Reshape(x, each)
  wide = Expand(part, flat)
  sum = ReduceSum<keepdims = 0>(scores)
  own = SoftmaxCrossEntropyLoss(wide, labels)
  loss = Add(own, sum)
})");
  ImportOptions options;
  options.require_loss = false;
  Imported unsaid = importFile(write(model), options);
  ASSERT_TRUE(unsaid.status.ok()) << unsaid.error();
  EXPECT_TRUE(unsaid.input(2).getPerSample());
  EXPECT_FALSE(unsaid.input(1).getPerSample());
  auto denote = [&](int input) {
    model.mutable_graph()
        ->mutable_input(input)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_denotation("DATA_BATCH");
  };
  denote(1);
  options.micro_batch = 4;
  Imported said = importFile(write(model), options);
  ASSERT_TRUE(said.status.ok()) << said.error();
  EXPECT_FALSE(said.input(0).getPerSample());
  EXPECT_TRUE(said.input(1).getPerSample());
  EXPECT_FALSE(said.input(2).getPerSample());
  denote(2); // three of each sample
  Imported both = importFile(write(model), options);
  ASSERT_TRUE(both.status.ok()) << both.error();
  EXPECT_TRUE(both.input(1).getPerSample());
  EXPECT_TRUE(both.input(2).getPerSample());
}

//===----------------------------------------------------------------------===//
// Which dim holds the samples
//===----------------------------------------------------------------------===//

TEST(Samples, MustLeadAnInputThatNamesThem) {
  const char *text = R"(
g (float[time, batch, 3] x) => (float[time, batch, 3] y) { y = Neg(x) })";
  ImportOptions options;
  options.dims = {{"time", 5}, {"batch", 2}};
  expectRefused(text,
                {"input 'x' is [time, batch, 3]",
                 "its dim 'batch' is at place 1",
                 "'time' would be taken for them", "x.transpose(0, 1)"},
                options);
}

// The file's names of an output's dims may be wrong.
TEST(Samples, AnOutputLeadsWithThemOnlyWhereItDoes) {
  auto isPerSample = [](int64_t batch, const std::string &output,
                        std::string *warning = nullptr) {
    ImportOptions options;
    options.dims["batch"] = batch;
    Imported imported = import("g (float[batch, 5, 3] x) => (float" + output +
                                   " y) { y = Transpose<perm = [1, 0, 2]>(x) }",
                               options);
    EXPECT_TRUE(imported.status.ok()) << imported.error();
    if (warning != nullptr) {
      EXPECT_EQ(imported.report.warnings.size(), 1u);
      *warning = imported.report.warnings.front();
    } else {
      EXPECT_TRUE(imported.report.warnings.empty());
    }
    return imported.function().getResultAttr(0, mlir::zg::nn::kPerSampleAttr) !=
           nullptr;
  };
  EXPECT_FALSE(isPerSample(2, "[5, batch, 3]"));
  std::string warning;
  EXPECT_FALSE(isPerSample(1, "[batch, 5, 3]", &warning));
  EXPECT_NE(warning.find("output 'y' has shape 5x1x3, whose first dim the file "
                         "calls 'batch', as that of samples, of which a "
                         "micro-batch has 1, but it has another size"),
            std::string::npos)
      << warning;
  // Though the sizes agree.
  EXPECT_FALSE(isPerSample(5, "[batch, 5, 3]", &warning));
  EXPECT_NE(warning.find("they are in dim 1"), std::string::npos) << warning;
}

} // namespace

} // namespace zerograph::frontend::testing
