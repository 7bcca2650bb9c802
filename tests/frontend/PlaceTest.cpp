//===- PlaceTest.cpp - where in the user's code a node was made -----------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "passes/ir/nn/Locations.h"
#include "tests/frontend/Fixture.h"

namespace zerograph::frontend::testing {

namespace {

constexpr char kScopes[] = "pkg.torch.onnx.name_scopes";
constexpr char kTrace[] = "pkg.torch.onnx.stack_trace";

void say(onnx::NodeProto &node, const std::string &key,
         const std::string &value) {
  auto *entry = node.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

/// As people read it.
std::string placeOfNode(const std::string &scopes, const std::string &trace,
                        const std::string &comment = "") {
  onnx::NodeProto node;
  if (!scopes.empty()) {
    say(node, kScopes, scopes);
  }
  if (!trace.empty()) {
    say(node, kTrace, trace);
  }
  node.set_doc_string(comment);
  mlir::MLIRContext context;
  return mlir::zg::nn::placeOf(
      mlir::zg::nn::locationOf(&context, "y", placeOf(node)));
}

constexpr char kLinear[] = R"(File "/home/me/train.py", line 7, in forward
    return loss(self.model(x))
  File "/usr/lib/site-packages/transformers/modeling_llama.py", line 176, in forward
    return self.down_proj(self.act_fn(self.gate_proj(x)), "File")
  File "/usr/lib/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias))";

TEST(Place, IsTheModuleAndTheInnermostLineOfTheUser) {
  EXPECT_EQ(placeOfNode("['', 'layers.1', 'layers.1.mlp', 'mul_3']", kLinear),
            "layers.1.mlp (modeling_llama.py:176)");
  EXPECT_EQ(placeOfNode("['', 'mul_3']", kLinear), "modeling_llama.py:176");
  EXPECT_EQ(placeOfNode("", kLinear), "modeling_llama.py:176");
  EXPECT_EQ(placeOfNode("['', 'fc', 'mul_3']", ""), "fc");
}

TEST(Place, IsNotInPyTorchItself) {
  EXPECT_EQ(placeOfNode("['_empty_nn_module_stack_from_metadata_hook', 'sym']",
                        "File \"torch/fx/passes/runtime_assert.py\", line 24, "
                        "in insert_deferred_runtime_asserts"),
            "");
  EXPECT_EQ(placeOfNode("['', 'l', 'div']",
                        "File \"<eval_with_key>.270\", line 15, in forward\n"),
            "l");
}

/// The older exporter's comment, innermost line first.
TEST(Place, OfTheOlderExporterIsALine) {
  EXPECT_EQ(
      placeOfNode("", "",
                  "/usr/lib/site-packages/torch/nn/functional.py(2615): embed\n"
                  "/home/me (old)/model.py(61): forward\n"
                  "/home/me/train.py(7): forward\n"),
      "model.py:61");
}

TEST(Place, UnknownIsNone) {
  EXPECT_EQ(placeOfNode("", ""), "");
  EXPECT_EQ(placeOfNode("", "", "A comment."), "");
  EXPECT_EQ(placeOfNode("nonsense", "File \"a"), "");
  EXPECT_EQ(placeOfNode("['']", "File \"a.py\", line x, in f"), "");
}

/// A function that the importer expands is made where its node is.
constexpr char kModel[] = R"(
g (float[2, 3] x) => (float[2, 3] y) {
  [soft] h = MeanVarianceNormalization <axes = [1]> (x)
  [last] y = Neg (h)
})";

TEST(Place, IsKeptByEveryOperation) {
  onnx::ModelProto model = parse(kModel);
  say(*model.mutable_graph()->mutable_node(0), kScopes, "['', 'norm', 'soft']");
  say(*model.mutable_graph()->mutable_node(1), kTrace, kLinear);
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importFile(write(model), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  std::set<std::string> described;
  for (mlir::Operation &op :
       imported.function().getBody().front().without_terminator()) {
    described.insert(mlir::zg::nn::describe(op.getLoc()));
  }
  EXPECT_EQ(described, (std::set<std::string>{
                           "soft in norm", "last in modeling_llama.py:176"}));
}

TEST(Place, IsNamedByErrors) {
  onnx::ModelProto model = parse(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  [draw] y = Multinomial (x)
})");
  say(*model.mutable_graph()->mutable_node(0), kScopes,
      "['', 'layers.1', 'y']");
  say(*model.mutable_graph()->mutable_node(0), kTrace, kLinear);
  ImportOptions options;
  options.require_loss = false;
  expectRefused(importFile(write(model), options),
                {"node 'draw' (Multinomial) in layers.1 "
                 "(modeling_llama.py:176): "});
}

} // namespace

} // namespace zerograph::frontend::testing
