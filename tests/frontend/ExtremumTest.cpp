//===- ExtremumTest.cpp - who gets the gradient of equal extremes ---------===//

#include "Fixture.h"

namespace zerograph::frontend::testing {

namespace {

/// Returns whether the first of equal extremes gets the gradient of the first
/// node. `made`: what the newer exporter says the node is.
bool choosesFirst(const std::string &nodes, const std::string &producer = "",
                  const std::string &made = "",
                  const std::string &outputs = "float[2, 1] y") {
  onnx::ModelProto model =
      parse("g (float[2, 3] x) => (" + outputs +
            ") <int64[1] last = {1}, int64[1] least = {-1}> { " + nodes + " }");
  model.set_producer_name(producer);
  if (!made.empty()) {
    auto *entry = model.mutable_graph()->mutable_node(0)->add_metadata_props();
    entry->set_key("pkg.torch.onnx.fx_node");
    entry->set_value("%y : call_function[target=torch.ops." + made + "](...)");
  }
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importFile(write(model), options);
  EXPECT_TRUE(imported.status.ok()) << imported.error();
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
