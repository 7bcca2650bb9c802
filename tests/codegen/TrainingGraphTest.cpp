//===- TrainingGraphTest.cpp - a program as a model of ONNX ---------------===//

#include "codegen/onnx/TrainingGraph.h"
#include "tests/support/Program.h"

#include "onnx/onnx_pb.h"
#include "tests/support/Says.h"
#include "gmock/gmock.h"

using namespace mlir::zg;
using namespace mlir::zg::testing;
using ::testing::HasSubstr;
using zerograph::expectSays;
using zerograph::frontend::ExportedModel;
using zerograph::frontend::TrainedWeights;

namespace {

TEST(TrainingGraph, NamesWhatItGives) {
  Program program(R"(
nn.program @micro(
    %x: tensor<2xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<2xf32> {nn.parameter = #nn.parameter<"w", module = "",
        trainable = true, init = normal>},
    %m: tensor<2xf32> {nn.parameter = #nn.parameter<"m", module = "",
        trainable = false, init = zeros,
        source = <"m.bin", offset = 0, length = 4>, type = f16>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<2xf32> {nn.gradient = "w"},
        tensor<2xf32> {nn.next_value = "m"}) {
  %p = nn.binary mul %x, %w : tensor<2xf32>
  %s = nn.reduce sum %p [0] : tensor<2xf32> -> tensor<1xf32>
  %l = nn.reshape %s : tensor<1xf32> -> tensor<f32>
  %n = nn.binary add %m, %x : tensor<2xf32>
  nn.return %l, %x, %n : tensor<f32>, tensor<2xf32>, tensor<2xf32>
})");
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  TrainedWeights weights;
  weights["w"].read = [](const std::string &) {
    return absl::StatusOr<std::string>(std::string(8, '\1'));
  };
  auto written =
      writeTrainingGraph(program.getModule(), weights, "folder/out.onnx")
          .value();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(written.bytes));
  std::vector<std::string> outputs, inputs;
  for (const auto &output : model.graph().output()) {
    outputs.push_back(output.name());
  }
  for (const auto &input : model.graph().input()) {
    inputs.push_back(input.name());
  }
  EXPECT_THAT(outputs, ::testing::ElementsAre("loss", "w.gradient", "m.next"));
  EXPECT_THAT(inputs, ::testing::ElementsAre("x", "w", "m"));
  EXPECT_EQ(model.graph().initializer(0).name(), "w");
  EXPECT_EQ(model.graph().initializer(0).raw_data(), std::string(8, '\1'));
  // The input is of its own type, and without a value.
  EXPECT_EQ(model.graph().input(2).type().tensor_type().elem_type(),
            onnx::TensorProto::FLOAT16);
  EXPECT_THAT(written.notes,
              ::testing::ElementsAre(HasSubstr("have to be fed: 'm'")));
  EXPECT_TRUE(written.data.empty());
}

/// More than 1 GiB together; nothing of it is read yet.
TEST(TrainingGraph, PutsLargeWeightsIntoAFileOfTheirOwn) {
  Program program(R"(
nn.program @micro(
    %x: tensor<2xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %v: tensor<3xf32> {nn.parameter = #nn.parameter<"v", module = "",
        trainable = true, init = normal>},
    %w: tensor<300000000xf32> {nn.parameter = #nn.parameter<"w", module = "",
        trainable = true, init = normal>})
    -> (tensor<2xf32> {nn.output = "loss"}) {
  nn.return %x : tensor<2xf32>
})");
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  TrainedWeights weights;
  weights["v"].dtype = weights["w"].dtype = "F32";
  auto written =
      writeTrainingGraph(program.getModule(), weights, "folder/out.onnx")
          .value();
  ASSERT_EQ(written.data.size(), 1u);
  EXPECT_EQ(written.data[0].name, "out.onnx.data");
  EXPECT_EQ(written.data[0].bytes, 4096 + 4 * 300000000);
  ASSERT_EQ(written.data[0].parts.size(), 2u);
  EXPECT_EQ(written.data[0].parts[1].weight, "w");
  EXPECT_EQ(written.data[0].parts[1].offset, 4096);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(written.bytes));
  const auto &entries = model.graph().initializer(1).external_data();
  EXPECT_EQ(entries.Get(0).value(), "out.onnx.data");
  EXPECT_EQ(entries.Get(1).value(), "4096");
  EXPECT_EQ(entries.Get(2).value(), "1200000000");
}

std::string refusal(const std::string &text) {
  Program program(text);
  EXPECT_TRUE(program.ok()) << program.diagnostics();
  auto written = writeTrainingGraph(program.getModule(), {}, "out.onnx");
  EXPECT_FALSE(written.ok());
  return std::string(written.status().message());
}

TEST(TrainingGraph, NamesAllThatHasNoForm) {
  std::string error = refusal(R"(
nn.program @micro(%x: tensor<2x8xf32> {nn.input = #nn.input<"x",
    per_sample = true>}) -> (tensor<2x8xf32> {nn.output = "y"}) {
  %a = nn.softmax %x : tensor<2x8xf32> loc("attention")
  %b = nn.unary neg %a : tensor<2x8xf32> -> tensor<2x8xf32>
  %c = nn.softmax %b : tensor<2x8xf32> loc("head")
  nn.return %c : tensor<2x8xf32>
})");
  expectSays(error, "2 ops have no form", "node 'attention' (nn.softmax)",
             "node 'head' (nn.softmax)");
}

TEST(TrainingGraph, NamesAllThatDrawsRandomNumbers) {
  std::string error = refusal(R"(
nn.program @micro(%x: tensor<2x8xf32> {nn.input = #nn.input<"x",
    per_sample = true>}) -> (tensor<2x8xf32> {nn.output = "y"}) {
  %a, %m = nn.dropout %x ratio 0.1 number 0 samples [0, 2]
      : tensor<2x8xf32> -> tensor<2x8xi1> loc("drop")
  %b = nn.random_like %a number 1 samples [0, 2]
      : tensor<2x8xf32> -> tensor<2x8xf32> loc("noise")
  %c, %n = nn.dropout %b ratio 0.1 number 0 samples [0, 2]
      : tensor<2x8xf32> -> tensor<2x8xi1> loc("drop.gradient")
  nn.return %c : tensor<2x8xf32>
})");
  expectSays(error, "2 nodes draw random numbers", "--dropout 0",
             "\n  'drop'\n  'noise'");
}

TEST(TrainingGraph, RefusesNamesThatAreTaken) {
  std::string error = refusal(R"(
nn.program @micro(
    %x: tensor<2xf32> {nn.input = #nn.input<"w.gradient", per_sample = true>},
    %w: tensor<2xf32> {nn.parameter = #nn.parameter<"w", module = "",
        trainable = true, init = normal>})
    -> (tensor<2xf32> {nn.gradient = "w"}) {
  nn.return %x : tensor<2xf32>
})");
  expectSays(error, "two values named w.gradient");
}

} // namespace
