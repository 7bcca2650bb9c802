//===- GradientPathTest.cpp - to which inputs a gradient flows ------------===//

#include "frontend/graph/GradientPath.h"
#include "tests/frontend/Fixture.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend::testing {

namespace {

using Names = std::vector<std::string>;

/// Returns what a gradient flows to of the last node of a body of these nodes,
/// whose inputs are a, b, c, d, e and whose initializers are v and w.
Names readsOfLast(const std::string &nodes) {
  onnx::ModelProto model = parse(absl::StrCat(
      "g (float[4] a, float[4] b, int64[2] c, bool d, float[4] e) => "
      "(float[N] y) <float[4] v = {0, 0, 0, 0}, float[4] w = {1, 1, 1, 1}> {",
      nodes, "}"));
  Graph graph(model.graph());
  return GradientPath(graph, 18).reads(model.graph().node_size() - 1);
}

TEST(GradientPath, TellsInputsApartByTheirOperator) {
  EXPECT_EQ(readsOfLast("y = Mul(a, b)"), (Names{"a", "b"}));
  EXPECT_EQ(readsOfLast("y = Gather(a, c)"), Names{"a"});
  EXPECT_EQ(readsOfLast("y = Where(d, a, b)"), (Names{"a", "b"}));
  EXPECT_EQ(readsOfLast("y = Pad(a, c, b)"), (Names{"a", "b"}));
  EXPECT_EQ(readsOfLast("y = Greater(a, b)"), Names{});
  EXPECT_EQ(readsOfLast("y = LSTM(a, b, v, , c)"), (Names{"a", "b", "v"}));
}

TEST(GradientPath, EndsWhereFloatsBecomeIntegers) {
  EXPECT_EQ(readsOfLast("y = Cast <to = 1> (a)"), Names{"a"});
  EXPECT_EQ(readsOfLast("y = Cast <to = 7> (a)"), Names{});
}

TEST(GradientPath, FlowsToAllInputsOfFunctions) {
  EXPECT_EQ(readsOfLast("y = Mish(a)"), Names{"a"});
}

TEST(GradientPath, FlowsToStatisticsThatTheGraphComputes) {
  EXPECT_EQ(readsOfLast("y = BatchNormalization(a, v, w, v, w)"),
            (Names{"a", "v", "w"}));
  EXPECT_EQ(readsOfLast("m = Neg(a) y = BatchNormalization(a, v, w, m, w)"),
            (Names{"a", "v", "w", "m"}));
  EXPECT_EQ(readsOfLast("m = Neg(a) y = BatchNormalization <training_mode = 1> "
                        "(a, v, w, m, w)"),
            (Names{"a", "v", "w"}));
}

TEST(GradientPath, FlowsThroughBodiesToWhatTheyCapture) {
  EXPECT_EQ(readsOfLast("y = If (d) <"
                        "then_branch = t () => (float[4] r) { r = Mul(a, b) }, "
                        "else_branch = f () => (float[4] s) "
                        "{ k = Cast <to = 7> (e) s = Cast <to = 1> (k) }>"),
            (Names{"a", "b"}));
}

TEST(GradientPath, ReachesNodesForwardsAndBackwards) {
  onnx::ModelProto model = parse(R"(
    g (float[4] x) => (float[4] loss, float[4] other)
    <float[4] w = {1, 1, 1, 1}> {
      p = Mul(x, w)
      whole = Cast <to = 7> (p)
      back = Cast <to = 1> (whole)
      loss = Add(p, back)
      other = Neg(x)
    })");
  Graph graph(model.graph());
  GradientPath path(graph, 18);
  // Not through `whole`, whose result has no gradient.
  EXPECT_EQ(path.nodesReaching("loss"),
            (std::vector<bool>{true, true, true, true, false}));
  EXPECT_EQ(path.nodesReachedFrom({"w"}),
            (std::vector<bool>{true, false, false, true, false}));
}

} // namespace

} // namespace zerograph::frontend::testing
