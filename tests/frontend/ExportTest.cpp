//===- ExportTest.cpp - weights back into a model's file ------------------===//

#include "frontend/export/Export.h"
#include "tests/frontend/Fixture.h"

#include "onnx/checker.h"
#include "gmock/gmock.h"

#include <cstring>
#include <fstream>

namespace zerograph::frontend::testing {

namespace {

using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string bytesOf(const std::vector<float> &values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A weight of float32; as 16 bits its bytes are 'h's.
TrainedWeight weight(std::vector<int64_t> shape, std::vector<float> values) {
  TrainedWeight result;
  result.dtype = "F32";
  result.shape = std::move(shape);
  result.read = [values](const std::string &dtype) {
    return absl::StatusOr<std::string>(
        dtype == "F32" ? bytesOf(values) : std::string(values.size() * 2, 'h'));
  };
  return result;
}

struct Exported {
  absl::Status status;
  ExportedModel files;
  onnx::ModelProto model;

  const onnx::GraphProto &graph() const { return model.graph(); }
  const TensorProto &initializer(const std::string &name) const {
    for (const TensorProto &tensor : graph().initializer()) {
      if (tensor.name() == name) {
        return tensor;
      }
    }
    static const TensorProto none;
    return none;
  }
  std::vector<std::string> outputs() const { return names(graph().output()); }
  std::vector<std::string> inputs() const { return names(graph().input()); }
  std::vector<std::string> operators() const {
    std::vector<std::string> types;
    for (const auto &node : graph().node()) {
      types.push_back(node.op_type());
    }
    return types;
  }
  template <typename Field>
  static std::vector<std::string> names(const Field &field) {
    std::vector<std::string> result;
    for (const auto &each : field) {
      result.push_back(each.name());
    }
    return result;
  }
};

Exported exportFile(const std::string &path, const TrainedWeights &weights,
                    const ExportOptions &options = {}) {
  Exported exported;
  auto made = exportModel(path, "folder/out.onnx", weights, options);
  exported.status = made.status();
  if (made.ok()) {
    exported.files = *std::move(made);
    EXPECT_TRUE(exported.model.ParseFromString(exported.files.bytes));
  }
  return exported;
}

Exported exportText(const std::string &text, const TrainedWeights &weights,
                    const ExportOptions &options = {}) {
  return exportFile(write(parse(text)), weights, options);
}

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

const char *const kLinear = R"(
g (float[batch, 2] x) => (float loss)
<float[2] w = {1, 2}, float[2] other = {3, 4}>
{
  y = Mul (x, w)
  z = Add (y, other)
  loss = ReduceSum <keepdims = 0> (z)
})";

TEST(Export, ReplacesValuesAndNothingElse) {
  onnx::ModelProto model = parse(kLinear);
  // A field that this ONNX does not know: number 90, a varint.
  std::string before = model.SerializeAsString() + "\xd0\x05\x2a";
  Exported exported =
      exportFile(writeBytes(before), {{"w", weight({2}, {5, 6})}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  EXPECT_EQ(exported.files.bytes.substr(exported.files.bytes.size() - 3),
            "\xd0\x05\x2a");
  ASSERT_TRUE(model.ParseFromString(before));
  for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "w") { // in the field that had them
      EXPECT_EQ(tensor.float_data_size(), 2);
      tensor.set_float_data(0, 5);
      tensor.set_float_data(1, 6);
    }
  }
  EXPECT_EQ(exported.files.bytes, model.SerializeAsString());
  EXPECT_THAT(exported.files.notes, ElementsAre(HasSubstr("'other'")));
  EXPECT_THAT(exported.files.data, IsEmpty());
}

TEST(Export, NamesAllWeightsThatDoNotFit) {
  Exported exported = exportText(kLinear, {{"w", weight({3}, {5, 6, 7})},
                                           {"a", weight({2}, {5, 6})},
                                           {"b", weight({2}, {5, 6})}});
  std::string error(exported.status.message());
  for (const char *part :
       {"3 weights do not fit", "'w' has shape 2 in the model and 3",
        "'a' is no initializer", "'b' is no initializer"}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
  TrainedWeight wide = weight({2}, {5, 6});
  wide.dtype = "F64";
  exported = exportText(kLinear, {{"w", wide}});
  EXPECT_THAT(std::string(exported.status.message()),
              HasSubstr("'w' is F32 in the model and F64 among the weights"));
}

TEST(Export, RoundsToHalves) {
  onnx::ModelProto model = parse(kLinear);
  TensorProto &w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_data_type(TensorProto::FLOAT16);
  w.add_int32_data(1);
  w.add_int32_data(2);
  Exported exported = exportFile(write(model), {{"w", weight({2}, {5, 6})}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  EXPECT_THAT(exported.initializer("w").int32_data(),
              ElementsAre(0x6868, 0x6868));
  EXPECT_THAT(exported.files.notes[0], HasSubstr("rounded"));
}

TEST(Export, WeightsInConstantNodes) {
  Exported exported = exportText(R"(
g (float[batch, 2] x) => (float loss) {
  w = Constant <value = float[2, 1] {1, 2}> ()
  y = MatMul (x, w)
  loss = ReduceSum <keepdims = 0> (y)
})",
                                 {{"w", weight({2, 1}, {5, 6})}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  EXPECT_THAT(exported.graph().node(0).attribute(0).t().float_data(),
              ElementsAre(5, 6));
}

TEST(Export, ConstantsOfFunctionsAreRefused) {
  std::string text = R"(<ir_version: 8, opset_import: ["" : 18, "f" : 1]>
g (float[batch, 2] x) => (float loss) {
  y = f.linear (x)
  loss = ReduceSum <keepdims = 0> (y)
}
<domain: "f", opset_import: ["" : 18]>
linear (x) => (y) {
  w = Constant <value = float[2, 1] {1, 2}> ()
  y = MatMul (x, w)
})";
  // The name that the importer gives it.
  ImportOptions options;
  options.dims["batch"] = 2;
  Imported imported = importFile(write(parse(text)), options);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  ASSERT_EQ(imported.report.parameters.size(), 1u);
  std::string name = imported.report.parameters[0].name;
  Exported exported = exportText(text, {{name, weight({2, 1}, {5, 6})}});
  EXPECT_THAT(std::string(exported.status.message()),
              HasSubstr("'" + name +
                        "' is a constant in the body of a "
                        "function"));
}

/// A model whose weights lie in `location`, at bytes 8 and 16.
std::string writeExternal(const std::string &location, bool withFile,
                          int64_t secondOffset = 16) {
  onnx::ModelProto model = parse(kLinear);
  int64_t offset = 8;
  for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer()) {
    tensor.clear_float_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto add = [&](const char *key, const std::string &value) {
      auto &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", std::to_string(offset));
    add("length", "8");
    add("checksum", "00");
    offset = secondOffset;
  }
  std::string path = write(model);
  if (withFile) {
    std::string folder = path.substr(0, path.find_last_of('/') + 1);
    std::ofstream(folder + location) << std::string(40, '.');
  }
  return path;
}

std::string entry(const TensorProto &tensor, const std::string &key) {
  for (const auto &each : tensor.external_data()) {
    if (each.key() == key) {
      return each.value();
    }
  }
  return "none";
}

TEST(Export, ExternalDataKeepsItsPlaces) {
  Exported exported = exportFile(writeExternal("model.onnx.data", true),
                                 {{"other", weight({2}, {5, 6})}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  ASSERT_EQ(exported.files.data.size(), 1u);
  const DataFile &data = exported.files.data[0];
  EXPECT_EQ(data.name, "out.onnx.data");
  EXPECT_EQ(data.source, "model.onnx.data");
  EXPECT_EQ(data.bytes, 40);
  ASSERT_EQ(data.parts.size(), 1u);
  EXPECT_EQ(data.parts[0].offset, 16);
  EXPECT_EQ(data.parts[0].weight, "other");
  EXPECT_EQ(data.parts[0].dtype, "F32");
  for (const char *name : {"w", "other"}) {
    EXPECT_EQ(entry(exported.initializer(name), "location"), "out.onnx.data");
  }
  EXPECT_EQ(entry(exported.initializer("other"), "offset"), "16");
  // That of other bytes would be wrong.
  EXPECT_EQ(entry(exported.initializer("w"), "checksum"), "00");
  EXPECT_EQ(entry(exported.initializer("other"), "checksum"), "none");
}

TEST(Export, OtherNamesOfDataFollowThatOfTheModel) {
  Exported exported = exportFile(writeExternal("weights.bin", true),
                                 {{"w", weight({2}, {5, 6})}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  EXPECT_EQ(exported.files.data[0].name, "out.onnx.weights.bin");
}

TEST(Export, DataThatIsNotThereMustBeWhole) {
  std::string path = writeExternal("weights.bin", false);
  Exported exported = exportFile(path, {{"w", weight({2}, {5, 6})}});
  EXPECT_THAT(std::string(exported.status.message()),
              HasSubstr("'weights.bin' is not beside the model, and the "
                        "weights do not have 'other'"));
  exported = exportFile(
      path, {{"w", weight({2}, {5, 6})}, {"other", weight({2}, {7, 8})}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  EXPECT_EQ(exported.files.data[0].source, "");
  EXPECT_EQ(exported.files.data[0].bytes, 24);
}

TEST(Export, SharedBytesAreRefused) {
  Exported exported = exportFile(writeExternal("weights.bin", true, 12),
                                 {{"other", weight({2}, {5, 6})}});
  EXPECT_THAT(std::string(exported.status.message()),
              HasSubstr("'w' and 'other' share bytes of 'weights.bin'"));
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
