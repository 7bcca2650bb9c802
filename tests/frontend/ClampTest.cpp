//===- ClampTest.cpp - whether a gradient passes at a bound ---------------===//

#include "Fixture.h"

namespace zerograph::frontend::testing {

namespace {

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
  if (!made.empty()) {
    auto *entry = model.mutable_graph()->mutable_node(0)->add_metadata_props();
    entry->set_key("pkg.torch.onnx.fx_node");
    entry->set_value("%y : call_function[target=torch.ops." + made + "]");
  }
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importFile(write(model), options);
  EXPECT_TRUE(imported.status.ok()) << imported.error();
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

} // namespace

} // namespace zerograph::frontend::testing
