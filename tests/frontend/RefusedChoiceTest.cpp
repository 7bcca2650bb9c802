//===- RefusedChoiceTest.cpp - dims, losses and parameters that are none --===//

#include "tests/frontend/Fixture.h"

namespace zerograph::frontend::testing {

namespace {

TEST(RefusedDims, AllOpenOnesAtOnce) {
  expectRefused("g (float[n, m] x, float[n, ?] y) => (float[n, m] z) "
                "{ z = Add(x, y) }",
                {"n (x[0], y[0])", "m (x[1])", "y.1 (y[1])"});
}

TEST(RefusedDims, UnknownAndZero) {
  ImportOptions options;
  options.dims = {{"batch", 4}};
  expectRefused("g (float[n] x) => (float[n] y) { y = Relu(x) }",
                {"--dim batch=4", "there are n"}, options);
  options.dims = {{"n", 0}};
  expectRefused("g (float[n] x) => (float[n] y) { y = Relu(x) }",
                {"at least 1"}, options);
}

TEST(RefusedLoss, NoneOrSeveral) {
  ImportOptions options;
  expectRefused(importFile(write(
                    parse("g (float[4] x) => (float[4] y) { y = Relu(x) }"))),
                {"no loss to minimize", "y"});
  expectRefused(importFile(write(parse(R"(
g (float[4] x) => (float a, float b) {
  a = ReduceMean <keepdims = 0> (x)
  b = ReduceMax <keepdims = 0> (x)
})"))),
                {"several outputs", "a, b", "--loss-output"});
  options.loss_output = "nope";
  expectRefused(kSmall, {"--loss-output nope", "loss"}, options);
}

TEST(RefusedLoss, NotAScalar) {
  ImportOptions options;
  options.loss_output = "y";
  expectRefused(importFile(write(parse(R"(
g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {
  y = Mul(x, w)
})")),
                           options),
                {"loss 'y' has shape 4"});
}

TEST(RefusedMetric, NotANumber) {
  ImportOptions options;
  options.metrics = {"y"};
  expectRefused(importFile(write(parse(R"(
g (float[4] x) => (float[4] y, float loss) <float[4] w = {1, 2, 3, 4}> {
  y = Mul(x, w)
  loss = ReduceMean <keepdims = 0> (y)
})")),
                           options),
                {"--metric y: it has shape 4"});
}

TEST(RefusedParameters, NothingToTrain) {
  expectRefused(
      "g (float[4] x) => (float loss) { loss = ReduceMean <keepdims = 0> (x) "
      "}",
      {"nothing to train"});
}

TEST(RefusedParameters, PatternsThatMatchNothing) {
  ImportOptions options;
  options.train = {"v*"};
  expectRefused(kSmall, {"--train v*"}, options);
  options.train.clear();
  options.freeze = {"v*"};
  expectRefused(kSmall, {"--freeze v*"}, options);
  options.freeze.clear();
  options.adapters = {{8, "v*"}};
  expectRefused(kSmall, {"--lora v*: no parameter of two dimensions"}, options);
}

/// kSmall as an exporter would describe it, with a parameter that the file does
/// not hold; `origin` is the parameter that the first node was made from.
onnx::ModelProto described(const std::string &origin,
                           const std::string &missing = "v") {
  onnx::ModelProto model = parse(kSmall);
  auto *signature = model.mutable_graph()->add_metadata_props();
  signature->set_key("pkg.torch.export.ExportedProgram.graph_signature");
  signature->set_value("\n# inputs\np_w: PARAMETER target='w'\n"
                       "p_v: PARAMETER target='" +
                       missing + "'\nx: USER_INPUT\n");
  auto *node = model.mutable_graph()->mutable_node(0)->add_metadata_props();
  node->set_key("pkg.torch.onnx.fx_node");
  node->set_value("%mul : call_function(args = (%x, %" + origin + "))");
  return model;
}

TEST(RefusedParameters, MergedByTheExporter) {
  std::string path = write(described("p_v"));
  expectRefused(importFile(path), {"1 parameters", "v", "optimize=False",
                                   "--allow-exporter-damage"});
  expectAllowed(path);
}

// No other way of exporting brings it back.
TEST(RefusedParameters, TheProjectionOfAnLstm) {
  expectRefused(importFile(write(described("p_v", "rnn.weight_hr_l0"))),
                {"'rnn.weight_hr_l0' is of an LSTM with proj_size",
                 "proj_size=0", "plain operations"});
}

// PyTorch's older exporter does this to a module unless it is told to train.
TEST(RefusedParameters, MergedOrRenamedByTheOlderExporter) {
  onnx::ModelProto model = parse(R"(
g (float[4, 2] x) => (float loss)
<float[2] p = {0, 0}, float[2, 2] q = {1, 2, 3, 4}> {
  r = Identity(p)
  a = MatMul(x, q)
  b = Add(a, p)
  c = Add(b, r)
  loss = ReduceMean <keepdims = 0> (c)
})");
  auto rename = [](std::string *name) {
    *name = *name == "p"   ? "norm1.bias"
            : *name == "q" ? "onnx::MatMul_7"
            : *name == "r" ? "norm2.bias"
                           : *name;
  };
  for (auto &tensor : *model.mutable_graph()->mutable_initializer()) {
    rename(tensor.mutable_name());
  }
  for (auto &node : *model.mutable_graph()->mutable_node()) {
    for (std::string &name : *node.mutable_input()) {
      rename(&name);
    }
    for (std::string &name : *node.mutable_output()) {
      rename(&name);
    }
  }
  std::string path = write(model);
  expectRefused(importFile(path),
                {"2 parameters", "norm2.bias (merged with norm1.bias)",
                 "onnx::MatMul_7", "do_constant_folding=False",
                 "--allow-exporter-damage trains the file as it is"});
  expectAllowed(path);
  // A parameter that stays as it is may have any name.
  ImportOptions options;
  options.freeze = {"onnx::*"};
  expectRefused(importFile(path, options), {"1 parameters", "norm2.bias"});
  options.freeze = {"norm1.bias"};
  expectRefused(importFile(path, options), {"1 parameters", "onnx::MatMul_7"});
}

TEST(RefusedParameters, TiedIsNoDamage) {
  Imported imported = importFile(write(described("p_w")));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.report.warnings.empty());
  EXPECT_TRUE(imported.report.notes.empty());
  ASSERT_EQ(imported.report.remarks.size(), 1u);
  EXPECT_NE(imported.report.remarks[0].find(": v;"), std::string::npos);
}

} // namespace

} // namespace zerograph::frontend::testing
