//===- FoldedWeightsTest.cpp - weights computed while exporting -----------===//
//
// PyTorch's default exporter takes initial weights for constants, so that a
// transposed weight becomes an initializer that no gradient reaches.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Fixture.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend::testing {

namespace {

/// A product with `made` [2, 3], of a model that also gathers rows of w [3, 2];
/// `listed` are the lines of the exporter's list.
onnx::ModelProto folded(const std::string &made, const std::string &listed,
                        const std::string &w = "1, 2, 3, 4, 5, 6") {
  onnx::ModelProto model = parse(absl::StrCat(R"(
g (float[4, 2] x, int64[4] i) => (float loss)
<float[3, 2] w = {)",
                                              w, R"(},
 float[3] b = {1, 1, 1}, float[2, 3] made = {)",
                                              made, R"(}> {
  row = Gather (w, i)
  h = Add (x, row)
  [product] y = MatMul (h, made)
  z = Add (y, b)
  loss = ReduceMean <keepdims = 0> (z)
})"));
  auto *signature = model.mutable_graph()->add_metadata_props();
  signature->set_key("pkg.torch.export.ExportedProgram.graph_signature");
  signature->set_value("\n# inputs\n" + listed + "x: USER_INPUT\n");
  auto *origin = model.mutable_graph()->mutable_node(0)->add_metadata_props();
  origin->set_key("pkg.torch.onnx.fx_node");
  origin->set_value("%row : call_function(args = (%p_w, %i))");
  return model;
}

const char *const kListed = "p_w: PARAMETER target='w'\n"
                            "p_b: PARAMETER target='b'\n";
const char *const kTransposed = "1, 3, 5, 2, 4, 6";

Imported importOf(const onnx::ModelProto &model,
                  const ImportOptions &options = {}) {
  return importFile(write(model), options);
}

TEST(FoldedWeights, ATransposedTieIsRefused) {
  onnx::ModelProto model = folded(kTransposed, kListed);
  expectRefused(importOf(model),
                {"made (node 'product' reads it; made of parameter 'w')",
                 "optimize=False", "--allow-exporter-damage"});
  expectAllowed(write(model));
}

TEST(FoldedWeights, OfWhatIsFrozenAreRight) {
  ImportOptions options;
  options.freeze = {"w"};
  Imported imported = importOf(folded(kTransposed, kListed), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.report.warnings.empty());
}

TEST(FoldedWeights, AnotherShapeOfTheSameIsRefused) {
  expectRefused(importOf(folded("1, 2, 3, 4, 5, 6", kListed)),
                {"made of parameter 'w'"});
}

// A matrix of other numbers, of its shape alone, is a constant: so is one whose
// numbers are all the same.
TEST(FoldedWeights, AMatrixOfOtherNumbersIsAConstant) {
  for (const auto &[made, w] :
       {std::pair{"1, 3, 5, 2, 4, 7", "1, 2, 3, 4, 5, 6"},
        std::pair{"1, 1, 1, 1, 1, 1", "1, 1, 1, 1, 1, 1"}}) {
    Imported imported = importOf(folded(made, kListed, w));
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_TRUE(imported.report.warnings.empty());
  }
}

TEST(FoldedWeights, ABufferIsNoParameter) {
  Imported imported = importOf(
      folded("7, 3, 5, 2, 4, 6", absl::StrCat(kListed, "b_m: BUFFER "
                                                       "target='made'\n"
                                                       "p_v: PARAMETER "
                                                       "target='v'\n")));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.report.warnings.empty());
  EXPECT_EQ(imported.report.remarks.size(), 1u); // of v
}

/// The model above, with `made` called `name`, when parameter v is gone.
onnx::ModelProto goneAs(const std::string &name) {
  onnx::ModelProto model = folded(
      "7, 3, 5, 2, 4, 6", absl::StrCat(kListed, "p_v: PARAMETER target='v'\n"));
  onnx::GraphProto &graph = *model.mutable_graph();
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    if (tensor.name() == "made") {
      tensor.set_name(name);
    }
  }
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input()) {
      input = input == "made" ? name : input;
    }
  }
  return model;
}

TEST(FoldedWeights, AParameterThatIsGoneWasUsedForThem) {
  for (const char *name : {"permute", "t_12"}) {
    expectRefused(importOf(goneAs(name)),
                  {absl::StrCat(name, " (node 'product' reads it; made of a "
                                      "parameter that is gone, one of: v)"),
                   "optimize=False"});
  }
}

// A model with a tied parameter may compute a table.
TEST(FoldedWeights, ATableOfCosinesIsWarnedOf) {
  Imported imported = importOf(goneAs("cos"));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_EQ(imported.report.warnings.size(), 1u);
  EXPECT_NE(imported.report.warnings[0].find("'cos'"), std::string::npos);
}

// A parameter without a matrix of unknown origin is tied, or unused.
TEST(FoldedWeights, OfBuffersExplainNothingThatIsGone) {
  onnx::ModelProto model = folded(kTransposed, "b_w: BUFFER target='w'\n"
                                               "p_b: PARAMETER target='b'\n"
                                               "p_v: PARAMETER target='v'\n");
  Imported imported = importOf(model);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.report.warnings.empty());
}

// Without the bytes, the shapes decide.
TEST(FoldedWeights, WhoseFileIsNotThereAreRefused) {
  onnx::ModelProto model = folded(kTransposed, kListed);
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "w") {
      tensor.clear_float_data();
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      auto *location = tensor.add_external_data();
      location->set_key("location");
      location->set_value("gone.data");
    }
  }
  expectRefused(importOf(model), {"made of parameter 'w'"});
}

} // namespace

} // namespace zerograph::frontend::testing
