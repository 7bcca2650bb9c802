//===- PyTorchGradientsTest.cpp - gradients that a file does not tell -----===//

#include "Fixture.h"

namespace zerograph::frontend::testing {

namespace {

/// Imports a model, without a loss, whose first node the newer exporter says
/// was made of the call `made`, unless that is empty.
Imported importMade(onnx::ModelProto model, const std::string &made) {
  if (!made.empty()) {
    auto *entry = model.mutable_graph()->mutable_node(0)->add_metadata_props();
    entry->set_key("pkg.torch.onnx.fx_node");
    entry->set_value("%y : call_function[target=torch.ops." + made + "](...)");
  }
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importFile(write(model), options);
  EXPECT_TRUE(imported.status.ok()) << imported.error();
  return imported;
}

/// Returns what compares x with its bounds: "lt gt" passes the gradient where
/// they are equal, "le ge" does not; empty: ties are shared.
std::string comparisons(const std::string &node, const std::string &version,
                        const std::string &made = "") {
  onnx::ModelProto model =
      parse("g (float[4] x, float[4] t, float s) => (float[4] y) "
            "<float zero = {0.0}, float six = {6.0}> { y = " +
            node + " }");
  model.set_producer_name("pytorch");
  model.set_producer_version(version);
  Imported imported = importMade(std::move(model), made);
  std::string found;
  for (const char *kind : {"lt", "le", "gt", "ge"}) {
    if (imported.has(std::string("nn.compare ") + kind)) {
      found += (found.empty() ? "" : " ") + std::string(kind);
    }
  }
  return found;
}

TEST(Clamp, PassedAtItsBoundsBeforePyTorch214) {
  EXPECT_EQ(comparisons("Clip(x, zero)", "2.13.0+cu130"), "lt");
  EXPECT_EQ(comparisons("Clip(x, zero)", "2.14.0"), "le");
  EXPECT_EQ(comparisons("Clip(x, , six)", "2.9.1"), "gt");
  EXPECT_EQ(comparisons("Clip(x, , six)", "3.0"), "ge");
  EXPECT_EQ(comparisons("Max(x, zero)", "2.13.0"), "lt");
  EXPECT_EQ(comparisons("Max(x, zero)", "2.15.0"), "le");
  EXPECT_EQ(comparisons("Min(six, x)", "2.15.0"), "ge");
  EXPECT_EQ(comparisons("Clip(x, zero)", "who knows"), "lt");
}

/// The newer exporter says which it was; of the older one's file, a Clip of two
/// bounds is taken for a relu6.
TEST(Clamp, HardtanhNeverDoes) {
  EXPECT_EQ(comparisons("Clip(x, zero, six)", "2.13.0"), "le ge");
  EXPECT_EQ(
      comparisons("Clip(x, zero, six)", "2.13.0", "aten.hardtanh.default"),
      "le ge");
  EXPECT_EQ(comparisons("Clip(x, zero, six)", "2.13.0", "aten.clamp.default"),
            "lt gt");
  EXPECT_EQ(comparisons("Clip(x, zero, six)", "2.14.0", "aten.clamp.default"),
            "le ge");
}

TEST(Clamp, ATieWithATensorIsShared) {
  EXPECT_EQ(comparisons("Clip(x, s)", "2.13.0"), "lt");
  EXPECT_EQ(comparisons("Clip(x, s)", "2.14.0"), "");
  EXPECT_EQ(comparisons("Max(x, t)", "2.13.0"), "");
}

/// Returns whether the first of equal extremes gets the gradient of the first
/// node. `made`: what the newer exporter says the node is.
bool choosesFirst(const std::string &nodes, const std::string &producer = "",
                  const std::string &made = "",
                  const std::string &outputs = "float[2, 1] y") {
  onnx::ModelProto model =
      parse("g (float[2, 3] x) => (" + outputs +
            ") <int64[1] last = {1}, int64[1] least = {-1}> { " + nodes + " }");
  model.set_producer_name(producer);
  Imported imported = importMade(std::move(model), made);
  return imported.has("[1] first : tensor<2x3xf32>") &&
         !imported.has("[1] : tensor<2x3xf32>");
}

const char *const kMax = "y = ReduceMax (x, last)";
const char *const kMin = "y = ReduceMin (x, least)";

TEST(Extremum, TheNewerExporterSaysWhichItIs) {
  EXPECT_TRUE(choosesFirst(kMax, "pytorch", "aten.max.dim"));
  EXPECT_TRUE(choosesFirst(kMin, "pytorch", "aten.min.dim"));
  EXPECT_FALSE(choosesFirst(kMax, "pytorch", "aten.amax.default"));
  EXPECT_FALSE(choosesFirst(kMin, "pytorch", "aten.amin.default"));
  EXPECT_FALSE(choosesFirst("y = ReduceMax (x)", "pytorch", "aten.max.default",
                            "float[1, 1] y"));
}

TEST(Extremum, APlaceThatIsFoundTells) {
  const char *both = "float[2, 1] y, int64[2, 1] i";
  for (const char *place :
       {"i = ArgMax <axis = 1> (x)", "i = ArgMax <axis = -1> (x)"}) {
    EXPECT_TRUE(choosesFirst(std::string(kMax) + " " + place, "", "", both));
  }
  EXPECT_TRUE(choosesFirst(std::string(kMin) + " i = ArgMin <axis = 1> (x)", "",
                           "", both));
  EXPECT_FALSE(choosesFirst(kMax));
}

TEST(Extremum, TheOlderExporterMostLikelyWroteMaxOfADim) {
  EXPECT_TRUE(choosesFirst(kMax, "pytorch"));
  EXPECT_FALSE(
      choosesFirst("y = ReduceMax (x)", "pytorch", "", "float[1, 1] y"));
}

} // namespace

} // namespace zerograph::frontend::testing
