//===- ExporterGradientTest.cpp - where PyTorch lets no gradient flow -----===//
//
// The newer exporter says in each node's metadata which call of PyTorch it was
// made from. The numbers are those of PyTorch's backward().
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Fixture.h"
#include "tests/passes/differentiate/NodeGradient.h"

#include "absl/strings/str_cat.h"

using mlir::zg::testing::gradientsOf;
using zerograph::frontend::testing::parse;

namespace {

using Numbers = std::vector<double>;

void setMetadata(
    google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto> &entries,
    const std::string &key, const std::string &value) {
  onnx::StringStringEntryProto &entry = *entries.Add();
  entry.set_key(key);
  entry.set_value(value);
}

/// Says of the node of that name what it was made from.
void setCall(onnx::ModelProto &model, const std::string &node,
             const std::string &call) {
  for (onnx::NodeProto &each : *model.mutable_graph()->mutable_node()) {
    if (each.name() == node) {
      setMetadata(*each.mutable_metadata_props(), "pkg.torch.onnx.fx_node",
                  absl::StrCat("%y : [num_users=1] = call_function[target="
                               "torch.ops.aten.",
                               call, ", kwargs = {})"));
    }
  }
}

std::map<std::string, Numbers> gradients(const onnx::ModelProto &model,
                                         const std::vector<std::string> &of) {
  auto result = gradientsOf(model, of);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : std::map<std::string, Numbers>();
}

/// The gradient of a table [3, 2] of which rows `ids` are looked up.
Numbers ofTable(const std::string &ids, const std::string &call) {
  onnx::ModelProto model = parse(absl::StrCat(R"(
g () => (double loss)
<double[3, 2] w = {1, 2, 3, 4, 5, 6}, int64[4] ids = {)",
                                              ids, R"(},
 double[4, 2] by = {1, 2, 3, 4, 5, 6, 7, 8}> {
  [look_up] rows = Gather (w, ids)
  y = Mul (rows, by)
  loss = ReduceSum <keepdims = 0> (y)
})"));
  setCall(model, "look_up", call);
  return gradients(model, {"w"})["w"];
}

TEST(Padding, HasNoGradient) {
  EXPECT_EQ(ofTable("1, 0, 1, 2", "embedding.default](args = (%w, %ids)"),
            (Numbers{3, 4, 6, 8, 7, 8}));
  EXPECT_EQ(ofTable("1, 0, 1, 2", "embedding.default](args = (%w, %ids, 1)"),
            (Numbers{3, 4, 0, 0, 7, 8}));
  EXPECT_EQ(ofTable("1, 0, 1, 2",
                    "embedding.default](args = (%w, %ids, 2, False, True)"),
            (Numbers{3, 4, 6, 8, 0, 0}));
  // -1 is none.
  EXPECT_EQ(ofTable("1, 0, 1, 2",
                    "embedding.default](args = (%w, %ids, -1, False, True)"),
            (Numbers{3, 4, 6, 8, 7, 8}));
}

/// Evenly spaced rows are a slice, unless one is the padding; -2 is row 1.
TEST(Padding, HasNoGradientWhereIndicesAreConstant) {
  EXPECT_EQ(ofTable("0, 0, 0, 0", "embedding.default](args = (%w, %ids, 0)"),
            (Numbers{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ofTable("-2, 0, -2, 2", "embedding.default](args = (%w, %ids, 1)"),
            (Numbers{3, 4, 0, 0, 7, 8}));
}

/// The head of a language model reads all rows of the table too.
TEST(Padding, LosesTheGradientOfTheLookUpAlone) {
  onnx::ModelProto model = parse(R"(
g () => (double loss)
<double[3, 2] w = {1, 2, 3, 4, 5, 6}, int64[2] ids = {1, 2},
 double[2, 3] x = {1, 0, 0, 0, 1, 1}> {
  [look_up] rows = Gather (w, ids)
  all = MatMul (x, w)
  y = Add (rows, all)
  loss = ReduceSum <keepdims = 0> (y)
})");
  EXPECT_EQ(gradients(model, {"w"})["w"], (Numbers{1, 1, 2, 2, 2, 2}));
  setCall(model, "look_up", "embedding.default](args = (%w, %ids, 1)");
  EXPECT_EQ(gradients(model, {"w"})["w"], (Numbers{1, 1, 1, 1, 2, 2}));
}

} // namespace
