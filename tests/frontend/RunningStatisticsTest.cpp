//===- RunningStatisticsTest.cpp - what micro-batches leave behind --------===//
//
// The running statistics of a BatchNormalization in training mode are frozen
// parameters whose next values are results of the program, whether a node reads
// these or not.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"

namespace zerograph::frontend::testing {

namespace {

// Channels (1, 3) and (0, 4): means 2 and 2, variances 1 and 4.
const Numbers kX{1, 0, 3, 4};
const Numbers kOnes{1, 1}, kZeros{0, 0}, kMean{10, 20}, kVar{3, 2};

Imported model(const std::string &nodes, bool loss = true,
               const ImportOptions &options = {}) {
  return import("g (float[2, 2] x) => (float[2, 2] y, float " +
                    std::string(loss ? "loss" : "mean_of_y") + R"()
<float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] moving = {10, 20}, float[2] spread = {3, 2}> {
)" + nodes + (loss ? "loss" : "mean_of_y") +
                    " = ReduceMean <keepdims = 0> (y)\n}",
                options);
}

std::string nextValue(const Imported &imported, unsigned result) {
  auto name = imported.function().getResultAttrOfType<mlir::StringAttr>(
      result, mlir::zg::nn::kNextValueAttr);
  return name ? name.getValue().str() : "";
}

TEST(RunningStatistics, AreNextValuesOfFrozenParameters) {
  Imported imported = model(R"(
  y, m, v = BatchNormalization <training_mode = 1, momentum = 0.5> (x, s, b, moving, spread)
)");
  auto results = runAll(imported, {kX, kOnes, kZeros, kMean, kVar});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(nextValue(imported, 1), "");
  EXPECT_EQ(nextValue(imported, 2), "moving");
  EXPECT_EQ(results[2], (Numbers{6, 11}));
  EXPECT_EQ(nextValue(imported, 3), "spread");
  EXPECT_EQ(results[3], (Numbers{2, 3}));
  EXPECT_TRUE(imported.parameter("s").getTrainable());
  EXPECT_FALSE(imported.parameter("moving").getTrainable());
}

/// A module runs on x, then on 2 x with the statistics of these names.
void expectMovedTwice(const std::string &statistics) {
  Imported imported = model(R"(
  h, m, v = BatchNormalization <training_mode = 1, momentum = 0.5> (x, s, b, moving, spread)
  twice = Add(x, x)
  z, n, w = BatchNormalization <training_mode = 1, momentum = 0.5> (twice, s, b, )" +
                            statistics + R"()
  y = Add(h, z)
)");
  auto results = runAll(imported, {kX, kOnes, kZeros, kMean, kVar});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[2], (Numbers{(6 + 4) / 2.0, (11 + 4) / 2.0}));
  EXPECT_EQ(results[3], (Numbers{(2 + 4) / 2.0, (3 + 16) / 2.0}));
}

TEST(RunningStatistics, OfAModuleThatRunsTwiceMoveTwice) {
  expectMovedTwice("moving, spread");
}

TEST(RunningStatistics, ThatNobodyAskedForAreNotKept) {
  Imported imported = model(R"(
  y = BatchNormalization <training_mode = 1> (x, s, b, moving, spread)
)");
  EXPECT_EQ(imported.function().getNumResults(), 2u);
  EXPECT_EQ(imported.function().getNumArguments(), 3u);
}

// As where a module hands its new buffers from call to call.
TEST(RunningStatistics, MoveOnWhereANodeReadsAnothersNewOnes) {
  expectMovedTwice("m, v");
}

TEST(RunningStatistics, ThatAreComputedAreNotKeptAndThatIsSaid) {
  Imported imported = model(R"(
  [scaled] old = Add(moving, moving)
  [norm] y, m, v = BatchNormalization <training_mode = 1, momentum = 0.5> (x, s, b, old, spread)
)");
  EXPECT_EQ(imported.function().getNumResults(), 3u);
  ASSERT_EQ(imported.report.warnings.size(), 1u);
  EXPECT_NE(imported.report.warnings[0].find(
                "node 'norm' (BatchNormalization): its running statistics"),
            std::string::npos);
}

// Exporters write this of a BatchNorm that keeps no statistics: the batch's, as
// inputs of the node, in either mode.
TEST(RunningStatistics, OfTheBatchAreNoneThatNeedBeKept) {
  const std::string kStatistics = R"(
  rows = Constant <value_ints = [0]> ()
  m = ReduceMean <keepdims = 0> (x, rows)
  c = Sub(x, m)
  d = Mul(c, c)
  v = ReduceMean <keepdims = 0> (d, rows)
)";
  for (const char *node :
       {"y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v)\n",
        "y, n, w = BatchNormalization <epsilon = 0.0, training_mode = 1> (x, "
        "s, b, m, v)\n"}) {
    Imported imported = model(kStatistics + node);
    auto results = runAll(imported, {kX, kOnes, kZeros});
    ASSERT_EQ(results.size(), 2u) << node;
    EXPECT_EQ(results[0], (Numbers{-1, -1, 1, 1})) << node;
    EXPECT_TRUE(imported.report.warnings.empty()) << node;
    EXPECT_TRUE(imported.parameter("s").getTrainable()) << node;
  }
}

// A gradient flows into them: what they depend on alone is trained.
TEST(RunningStatistics, OfTheDataCarryAGradient) {
  Imported imported = import(R"(
g (float[2, 2] x) => (float loss)
<float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] shift = {3, 2}> {
  n = Sub(x, shift)
  d = Mul(n, n)
  rows = Constant <value_ints = [0]> ()
  m = ReduceMean <keepdims = 0> (n, rows)
  v = ReduceMean <keepdims = 0> (d, rows)
  y = BatchNormalization (x, s, b, m, v)
  loss = ReduceMean <keepdims = 0> (y)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.parameter("shift").getTrainable());
}

TEST(RunningStatistics, ThatAreStoredNeedTrainingMode) {
  expectRefused(model("[norm] y = BatchNormalization (x, s, b, moving, spread)"
                      "\n"),
                {"node 'norm' (BatchNormalization): is in inference mode",
                 "dynamo=False"});
}

TEST(RunningStatistics, AreNotTrained) {
  ImportOptions options;
  options.train = {"*"};
  const char *const kNodes = R"(
  y, m, v = BatchNormalization <training_mode = 1> (x, s, b, moving, spread)
)";
  Imported all = model(kNodes, true, options);
  ASSERT_TRUE(all.status.ok()) << all.error();
  EXPECT_TRUE(all.parameter("b").getTrainable());
  EXPECT_FALSE(all.parameter("moving").getTrainable());
  options.train = {"s", "moving"};
  expectRefused(model(kNodes, true, options),
                {"--train names 'moving': running statistics are not trained"});
}

// Else a constant of the program, which --load-weights could not replace.
TEST(RunningStatistics, ThatAreLoadedAreParameters) {
  ImportOptions options;
  options.replaced = {"moving", "s"};
  Imported imported =
      model("y = BatchNormalization (x, s, b, moving, spread)", false, options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.function().getNumArguments(), 3u);
  EXPECT_TRUE(imported.parameter("moving"));
  EXPECT_TRUE(imported.parameter("s"));
}

TEST(RunningStatistics, StayAsTheyAreWithoutALoss) {
  Imported imported = model(R"(
  y, m, v = BatchNormalization <training_mode = 1> (x, s, b, moving, spread)
)",
                            /*loss=*/false);
  EXPECT_EQ(imported.function().getNumResults(), 2u);
}

} // namespace

} // namespace zerograph::frontend::testing
