//===- ModelsTest.cpp - whole models are imported -------------------------===//

#include "tests/frontend/Fixture.h"

#include "mlir/IR/Verifier.h"

namespace zerograph::frontend::testing {

namespace {

const std::map<std::string, int64_t> kNanoDims = {{"batch", 4}, {"seq", 64}};

int trainable(const Imported &imported) {
  int count = 0;
  for (const auto &parameter : imported.report.parameters) {
    count += parameter.trainable;
  }
  return count;
}

class MlpDigits : public ::testing::TestWithParam<const char *> {};

TEST_P(MlpDigits, IsImported) {
  ImportOptions options;
  options.dims = {{"batch", 8}};
  Imported imported = importFile(model("mlp-digits/") + GetParam(), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported.module)));
  EXPECT_EQ(imported.function().getNumArguments(), 6u);
  EXPECT_EQ(trainable(imported), 4);
  EXPECT_EQ(imported.report.loss_output, "loss");
  EXPECT_EQ(imported.report.batch_dim, "batch");
  EXPECT_EQ(imported.count("nn.matmul"), 2);
  EXPECT_EQ(imported.count("nn.softmax_cross_entropy"), 1);
  // Labels are bounded by the classes and the ignored label.
  EXPECT_TRUE(imported.input(0).getPerSample());
  EXPECT_EQ(imported.input(1).getMin(), 0);
  EXPECT_EQ(imported.input(1).getIgnored(), llvm::ArrayRef<int64_t>(-100));
  EXPECT_EQ(imported.input(1).getMax(), 9);
  auto bias = imported.parameter("fc1.bias");
  EXPECT_EQ(bias.getModule(), "fc1");
  EXPECT_EQ(bias.getInit(), mlir::zg::nn::InitKind::zeros);
  EXPECT_EQ(bias.getSource().getFile(), GetParam());
  EXPECT_EQ(bias.getSource().getLength(), 512);
}

INSTANTIATE_TEST_SUITE_P(Forms, MlpDigits,
                         ::testing::Values("model.onnx",
                                           "model_keep_names.onnx"));

class GptNano : public ::testing::TestWithParam<const char *> {};

TEST_P(GptNano, IsImported) {
  ImportOptions options;
  options.dims = kNanoDims;
  Imported imported = importFile(model("gpt2-nano/") + GetParam(), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.report.parameters.size(), 52u);
  EXPECT_EQ(trainable(imported), 52);
  // Four blocks of four, the attention's two products, and the head.
  EXPECT_EQ(imported.count("nn.matmul"), 4 * (4 + 2) + 1);
  EXPECT_EQ(imported.count("nn.softmax"), 4);
  EXPECT_EQ(imported.count("nn.layer_norm"), 9);
  EXPECT_EQ(imported.count("nn.softmax_cross_entropy"), 1);
  // The tokens alone need a gather: positions are a slice, and the packed
  // sequence logic folds into a causal mask of iota and compare.
  EXPECT_EQ(imported.count("nn.gather"), 1);
  EXPECT_EQ(imported.count("nn.cumsum"), 0);
  EXPECT_TRUE(imported.has("nn.iota"));
  EXPECT_EQ(imported.input(0).getMin(), -256);
  EXPECT_EQ(imported.input(0).getMax(), 255);
  EXPECT_EQ(imported.input(1).getMin(), 0);
  EXPECT_EQ(imported.input(1).getIgnored(), llvm::ArrayRef<int64_t>(-100));
  EXPECT_EQ(imported.input(1).getMax(), 255);
  EXPECT_EQ(imported.parameter("transformer.h.0.ln_1.weight").getInit(),
            mlir::zg::nn::InitKind::ones);
  EXPECT_EQ(imported.parameter("transformer.h.0.attn.c_attn.bias").getInit(),
            mlir::zg::nn::InitKind::zeros);
  EXPECT_EQ(imported.parameter("lm_head.weight").getInit(),
            mlir::zg::nn::InitKind::normal);
  // The other name of the tied embedding is known and reported.
  EXPECT_TRUE(imported.report.warnings.empty());
  EXPECT_TRUE(imported.report.notes.empty());
  ASSERT_EQ(imported.report.remarks.size(), 1u);
  EXPECT_NE(imported.report.remarks[0].find("transformer.wte.weight"),
            std::string::npos);
}

TEST_P(GptNano, KeepsNoLiteralMask) {
  ImportOptions options;
  options.dims = {{"batch", 4}, {"seq", 128}};
  Imported imported = importFile(model("gpt2-nano/") + GetParam(), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  imported.module.get()->walk([](mlir::zg::nn::ConstantOp constant) {
    EXPECT_TRUE(constant.getValue().isSplat());
  });
}

INSTANTIATE_TEST_SUITE_P(Forms, GptNano,
                         ::testing::Values("model.onnx", "model_sdpa.onnx",
                                           "model_keep_names.onnx"));

TEST(Models, ExternalWeightsAreNotRead) {
  ImportOptions options;
  options.dims = kNanoDims;
  Imported imported = importFile(model("gpt2-nano/model_sdpa.onnx"), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  auto source = imported.parameter("transformer.h.0.ln_1.bias").getSource();
  EXPECT_EQ(source.getFile(), "model_sdpa.onnx.data");
  EXPECT_EQ(source.getOffset(), 66048);
  EXPECT_EQ(source.getLength(), 512);
}

TEST(Models, StructureImportsWithoutItsWeights) {
  ImportOptions options;
  options.dims = {{"batch", 1}, {"seq", 128}};
  Imported imported = importFile(model("structure/gpt2-small.onnx"), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.report.parameters.size(), 148u);
  EXPECT_EQ(trainable(imported), 148);
}

TEST(Models, LongContextFoldsToo) {
  ImportOptions options;
  options.dims = {{"batch", 8}, {"seq", 1024}};
  Imported imported = importFile(model("structure/gpt2-small.onnx"), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.gather"), 1);
}

TEST(Models, InputsAreReadWithoutImport) {
  auto inputs = readInputs(model("gpt2-nano/model.onnx"));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_EQ((*inputs)[1].name, "labels");
  EXPECT_EQ((*inputs)[1].dtype, "I64");
  EXPECT_EQ((*inputs)[1].dims[0].name, "batch");
  EXPECT_EQ((*inputs)[1].dims[0].value, -1);
}

TEST(Models, LengthsOfVectorsAreReadWithoutImport) {
  auto lengths = readVectorLengths(model("gpt2-nano/model.onnx"));
  ASSERT_TRUE(lengths.ok()) << lengths.status();
  // Six of eight vectors of each block, and the last norm.
  EXPECT_EQ(lengths->size(), 4u * 8 + 2);
  EXPECT_EQ(std::count(lengths->begin(), lengths->end(), 128), 4 * 6 + 2);
  EXPECT_FALSE(readVectorLengths("none.onnx").ok());
}

} // namespace

} // namespace zerograph::frontend::testing
