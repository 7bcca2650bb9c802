//===- HalvesTest.cpp - models whose parameters have 16 bits --------------===//

#include "tests/frontend/Fixture.h"

#include "gmock/gmock.h"

namespace zerograph::frontend::testing {

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kModel[] = R"(
g (float16[n, 4] x) => (float loss, float16[n, 4] y)
<float[4] w = {1, 2, 3, 4}, float[4, 4] m = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> {
  eye = EyeLike <dtype = 10> (m)
  up = Cast <to = 1> (x)
  down = Cast <to = 10> (up)
  one = Constant <value = float {1.5}> ()
  half = Cast <to = 10> (one)
  scaled = Mul(down, half)
  near = MatMul(scaled, eye)
  far = MatMul(near, m)
  y = Mul(far, w)
  wide = Cast <to = 1> (y)
  loss = ReduceMean <keepdims = 0> (wide)
})";

/// The model with these initializers in float16.
Imported importHalf(const std::vector<std::string> &names,
                    const ImportOptions &wish = {}) {
  onnx::ModelProto model = parse(
      std::string("<ir_version: 10, opset_import: [\"\" : 18]>") + kModel);
  for (auto &tensor : *model.mutable_graph()->mutable_initializer()) {
    if (llvm::is_contained(names, tensor.name())) {
      tensor.set_data_type(onnx::TensorProto::FLOAT16);
      int64_t count = 1;
      for (int64_t size : tensor.dims()) {
        count *= size;
      }
      tensor.clear_float_data();
      std::string bytes;
      for (int64_t i = 0; i < count; ++i) {
        bytes += std::string("\x00\x3c", 2); // 1
      }
      tensor.set_raw_data(bytes);
    }
  }
  ImportOptions options = wish;
  options.dims["n"] = 2;
  return importFile(write(model), options);
}

TEST(Halves, ATrainedOneMakesTheProgramFloat32) {
  Imported imported = importHalf({"w", "m"});
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_EQ(imported.report.precision, "fp16");
  EXPECT_THAT(imported.report.notes,
              Contains(HasSubstr("2 of 2 trained parameters have 16 bits")));
  mlir::zg::nn::ParameterAttr w = imported.parameter("w");
  EXPECT_TRUE(w.getTrainable());
  EXPECT_TRUE(w.getType().isF16());
  EXPECT_EQ(w.getSource().getLength(), 4 * 2);
  // Only the cast of the data, which has the file's type, is left.
  EXPECT_EQ(imported.count("nn.convert"), 1);
  EXPECT_TRUE(imported.has("%x: tensor<2x4xf16>"));
  for (mlir::Type type :
       llvm::drop_begin(imported.function().getArgumentTypes())) {
    EXPECT_TRUE(
        mlir::cast<mlir::RankedTensorType>(type).getElementType().isF32());
  }
}

TEST(Halves, MostNumbersDecideThePrecision) {
  Imported imported = importHalf({"w"});
  // The node that multiplies by m, of float32, reads a number of 16 bits.
  EXPECT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_EQ(imported.report.precision, "fp32");
  EXPECT_THAT(imported.report.notes,
              Contains(HasSubstr("1 of 2 trained parameters have 16 bits")));
  EXPECT_EQ(imported.parameter("m").getType(), nullptr);
}

// Many exporters store a weight in 16 bits to save space.
TEST(Halves, WhatIsOnlyKeptInHalvesDecidesNothing) {
  onnx::ModelProto model = parse(R"(
g (float[n, 2] x) => (float loss)
<float16[2, 2] m = {1, 2, 3, 4}, float[2] w = {1, 2}> {
  wide = Cast <to = 1> (m)
  y = MatMul (x, wide)
  z = Mul (y, w)
  loss = ReduceMean <keepdims = 0> (z)
})");
  ImportOptions options;
  options.dims["n"] = 2;
  Imported imported = importFile(write(model), options);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_EQ(imported.report.precision, "fp32");
  EXPECT_TRUE(imported.isTrained("m"));
}

TEST(Halves, WhatIsNotTrainedKeepsItsType) {
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importHalf({"w", "m"}, options);
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_EQ(imported.report.precision, "fp32");
  EXPECT_TRUE(imported.has("-> tensor<2x4xf16>")); // of the products
}

} // namespace

} // namespace zerograph::frontend::testing
