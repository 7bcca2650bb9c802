//===- EmbeddingTest.cpp - what PyTorch does beside a graph ---------------===//
//
// Tables that PyTorch trains otherwise than any Gather says, buffers that its
// forward passes change, and gradients that it stops. What gradients are is
// tested in tests/passes/differentiate/ExporterGradientTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "tests/frontend/Evaluate.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace zerograph::frontend::testing {

namespace {

constexpr char kCall[] = "pkg.torch.onnx.fx_node";
constexpr char kSignature[] =
    "pkg.torch.export.ExportedProgram.graph_signature";

onnx::NodeProto nodeOf(const std::string &text) {
  onnx::NodeProto node;
  node.set_op_type("Gather");
  auto *entry = node.add_metadata_props();
  entry->set_key(kCall);
  entry->set_value(text);
  return node;
}

TEST(FxCall, HasATargetAndArguments) {
  FxCall call = fxCallOf(nodeOf(
      "%embedding_bag : [num_users=1] = call_function[target=torch.ops.aten."
      "embedding_bag.padding_idx](args = (%w, [1, (2, 3)], %offsets, True, 0, "
      "False, None, -1), kwargs = {})"));
  EXPECT_EQ(call.target, "aten.embedding_bag.padding_idx");
  ASSERT_EQ(call.arguments.size(), 8u);
  EXPECT_EQ(call.arguments[1], "[1, (2, 3)]");
  EXPECT_TRUE(call.isOf("embedding_bag"));
  EXPECT_FALSE(call.isOf("embedding"));
  EXPECT_TRUE(call.isTrue(3));
  EXPECT_FALSE(call.isTrue(5));
  EXPECT_EQ(call.number(7, 0), -1);
  EXPECT_EQ(call.number(6, 4), 4);
  EXPECT_EQ(call.number(8, 4), 4);
}

TEST(FxCall, IsEmptyWhereNothingSaysIt) {
  for (const char *text : {"", "%y : call_function(args = (%w, %i))",
                           "%y : call_function[target=torch.ops."}) {
    EXPECT_EQ(fxCallOf(nodeOf(text)).arguments.size(), 0u) << text;
  }
  EXPECT_EQ(fxCallOf(onnx::NodeProto()).target, "");
}

/// A table w [3, 2], of which a node made from `call` looks rows up.
onnx::ModelProto table(const std::string &call) {
  onnx::ModelProto model = parse(R"(
g (int64[4] ids) => (float loss)
<float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}> {
  [look_up] rows = Gather (w, ids)
  y = Mul (rows, b)
  loss = ReduceMean <keepdims = 0> (y)
})");
  auto *entry = model.mutable_graph()->mutable_node(0)->add_metadata_props();
  entry->set_key(kCall);
  entry->set_value(
      absl::StrCat("%y : [num_users=1] = call_function[target=torch.ops.aten.",
                   call, ", kwargs = {})"));
  return model;
}

TEST(Embedding, ScaledByFrequencyIsRefused) {
  for (const char *call :
       {"embedding.default](args = (%w, %ids, -1, True)",
        "embedding_bag.padding_idx](args = (%w, %ids, %o, True, 0, False)"}) {
    onnx::ModelProto model = table(call);
    expectRefused(importFile(write(model)),
                  {"'w' (node 'look_up')", "scale_grad_by_freq",
                   "--allow-exporter-damage"});
    expectAllowed(write(model));
    ImportOptions options;
    options.freeze = {"w"};
    EXPECT_TRUE(importFile(write(model), options).status.ok());
  }
  EXPECT_TRUE(
      importFile(
          write(table("embedding.default](args = (%w, %ids, -1, False)")))
          .status.ok());
}

TEST(Embedding, OfAGivenNormIsRefused) {
  onnx::ModelProto model =
      table("embedding_renorm.default](args = (%w, %ids, 1.0, 2.0)");
  expectRefused(importFile(write(model)),
                {"'w' (node 'look_up')", "max_norm", "max_norm=None"});
  expectAllowed(write(model));
}

/// A scale that follows the greatest number seen, as a buffer.
onnx::ModelProto buffer(const std::string &listed) {
  onnx::ModelProto model = parse(R"(
g (float[2] x) => (float loss)
<float[2] w = {3, 4}, float[2] seen = {1, 9}, float[2] other = {0, 0}> {
  next = Max (x, seen)
  h = Mul (w, x)
  y = Div (h, next)
  loss = ReduceSum <keepdims = 0> (y)
})");
  auto *entry = model.mutable_graph()->add_metadata_props();
  entry->set_key(kSignature);
  entry->set_value("\n# inputs\np_w: PARAMETER target='w'\n"
                   "b_seen: BUFFER target='seen' persistent=True\n\n"
                   "# outputs\n" +
                   listed + "loss: USER_OUTPUT\n");
  return model;
}

/// The exporter leaves out a change that only the next pass reads.
TEST(Buffer, ThatAForwardChangesIsRefused) {
  for (const char *line : {"next: BUFFER_MUTATION target='seen'\n",
                           "gone: BUFFER_MUTATION target='seen'\n"}) {
    onnx::ModelProto model = buffer(line);
    expectRefused(importFile(write(model)),
                  {"'seen'", "each forward pass", "inputs"});
    expectAllowed(write(model));
  }
}

/// A buffer that the file does not hold, or the loss does not depend on, harms
/// nothing.
TEST(Buffer, ThatTheLossDoesNotNeedIsLeft) {
  for (const char *line : {"next: BUFFER_MUTATION target='gone'\n",
                           "next: BUFFER_MUTATION target='other'\n"}) {
    Imported imported = importFile(write(buffer(line)));
    EXPECT_TRUE(imported.status.ok()) << imported.error();
  }
}

/// Without a list of parameters, those are trained that a gradient reaches.
TEST(Detach, StopsTheGradient) {
  onnx::ModelProto model = parse(R"(
g (float[2] x) => (float loss)
<float[2] w = {3, 4}, float[2] v = {1, 9}> {
  h = Mul (w, x)
  [cut] fixed = Identity (h)
  y = Mul (fixed, v)
  loss = ReduceSum <keepdims = 0> (y)
})");
  auto *entry = model.mutable_graph()->mutable_node(1)->add_metadata_props();
  entry->set_key(kCall);
  entry->set_value("%fixed : [num_users=1] = call_function[target=torch.ops."
                   "aten.detach.default](args = (%h,), kwargs = {})");
  Imported imported = importFile(write(model));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.stop_gradient"), 1);
  EXPECT_TRUE(imported.parameter("v").getTrainable());
  EXPECT_FALSE(imported.parameter("w"));

  // Nothing is trained without a loss.
  model.mutable_graph()->mutable_output(0)->set_name("fixed");
  ImportOptions options;
  options.require_loss = false;
  Imported forward = importFile(write(model), options);
  ASSERT_TRUE(forward.status.ok()) << forward.error();
  EXPECT_EQ(forward.count("nn.stop_gradient"), 0);
}

/// In evaluation mode both of its vectors are weights of the file.
TEST(SpectralNorm, ExportedInEvaluationModeIsRefused) {
  for (const char *names : {"l.weight_orig l.weight_u l.weight_v",
                            "l.parametrizations.weight.original "
                            "l.parametrizations.weight.0._u "
                            "l.parametrizations.weight.0._v"}) {
    onnx::ModelProto model = parse(R"(
g (float[2, 2] x) => (float loss)
<float[2, 2] w = {1, 2, 3, 4}, float[2] u = {1, 0}, float[2] v = {0, 1}> {
  wv = MatMul (w, v)
  sigma = MatMul (u, wv)
  scaled = Div (w, sigma)
  y = MatMul (x, scaled)
  loss = ReduceSum <keepdims = 0> (y)
})");
    std::vector<std::string> to = absl::StrSplit(names, ' ');
    auto rename = [&](std::string &name) {
      for (int i = 0; i < 3; ++i) {
        if (name == std::string(1, "wuv"[i])) {
          name = to[i];
        }
      }
    };
    for (auto &tensor : *model.mutable_graph()->mutable_initializer()) {
      rename(*tensor.mutable_name());
    }
    for (auto &node : *model.mutable_graph()->mutable_node()) {
      for (std::string &input : *node.mutable_input()) {
        rename(input);
      }
    }
    expectRefused(importFile(write(model)),
                  {to[0], "evaluation mode", "remove_spectral_norm"});
    expectAllowed(write(model));
  }
}

} // namespace

} // namespace zerograph::frontend::testing
