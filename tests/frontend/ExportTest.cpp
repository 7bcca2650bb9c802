//===- ExportTest.cpp - weights back into a model's file ------------------===//

#include "tests/frontend/Exported.h"

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

} // namespace

} // namespace zerograph::frontend::testing
