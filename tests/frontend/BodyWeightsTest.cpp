//===- BodyWeightsTest.cpp - weights within loops and branches ------------===//

#include "tests/frontend/Exported.h"
#include "tests/frontend/Fixture.h"

#include "gmock/gmock.h"

namespace zerograph::frontend::testing {

namespace {

using ::testing::HasSubstr;

/// Both branches have a weight called w, and so has the graph; the loop's is
/// its own.
const char kModel[] = R"(
g (float[batch, 2] x) => (float loss)
<float[2, 2] w = {1, 2, 3, 4}, bool yes = {1}, int64 turns = {3}>
{
  a = MatMul (x, w)
  b = If (yes) <
    then_branch = left () => (float[batch, 2] c)
      <float[2, 2] w = {5, 6, 7, 8}> { c = MatMul (a, w) },
    else_branch = right () => (float[batch, 2] d)
      <float[2, 2] w = {9, 9, 9, 9}> { d = MatMul (a, w) }>
  e = Loop (turns, yes, b) <
    body = turn (int64 i, bool on, float[batch, 2] f) => (bool go, float[batch, 2] h)
      <float[2] scale = {0.5, 0.25}> { go = Identity (on) h = Mul (f, scale) }>
  loss = ReduceSum <keepdims = 0> (e)
})";

ImportOptions twoSamples() {
  ImportOptions options;
  options.dims["batch"] = 2;
  return options;
}

TEST(BodyWeights, AreTrained) {
  Imported imported = import(kModel, twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  for (const char *name : {"w", "b.then_branch.w", "e.body.scale"}) {
    EXPECT_TRUE(imported.isTrained(name)) << name;
  }
}

/// A body may call its own values as bodies within it call theirs.
TEST(BodyWeights, ReadTheirOwn) {
  Imported imported = import(R"(
g (float[batch, 2] x) => (float loss) <bool yes = {1}>
{
  b = If (yes) <
    then_branch = outer () => (float[batch, 2] c)
      <float[2, 2] w = {5, 6, 7, 8}> {
        d = MatMul (x, w)
        c = If (yes) <
          then_branch = inner () => (float[batch, 2] e)
            <float[2, 2] w = {1, 2, 3, 4}> { e = MatMul (d, w) },
          else_branch = shared () => (float[batch, 2] f) { f = MatMul (d, w) }>
      },
    else_branch = local () => (float[batch, 2] h) {
      w = Neg (x)
      h = Identity (w)
    }>
  loss = ReduceSum <keepdims = 0> (b)
})",
                             twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_TRUE(imported.has("%x, %b.then_branch.w ")) << imported.text();
  EXPECT_TRUE(imported.has("%b.then_branch.c.then_branch.w "))
      << imported.text();
}

TEST(BodyWeights, OfAScan) {
  Imported imported = import(R"(
g (float[batch, 3] x, float[batch] start) => (float loss)
{
  last, each = Scan <num_scan_inputs = 1, scan_input_axes = [1],
    body = step (float[batch] s, float[batch] v) => (float[batch] t, float[batch] u)
      <float[1] k = {0.5}> { m = Mul (v, k) t = Add (s, m) u = Identity (t) }>
    (start, x)
  loss = ReduceSum <keepdims = 0> (last)
})",
                             [] {
                               ImportOptions options = twoSamples();
                               options.train = {"last.*"};
                               return options;
                             }());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_TRUE(imported.isTrained("last.body.k"));
}

TEST(BodyWeights, ConstantsAreNamed) {
  Imported imported = import(R"(
g (float[batch, 2] x) => (float loss)
<float[2, 2] w = {1, 2, 3, 4}, bool yes = {1}>
{
  a = MatMul (x, w)
  b = If (yes) <
    then_branch = left () => (float[batch, 2] c) {
      v = Constant <value = float[2, 2] {5, 6, 7, 8}> ()
      c = MatMul (a, v)
    },
    else_branch = right () => (float[batch, 2] d) { d = Neg (a) }>
  loss = ReduceSum <keepdims = 0> (b)
})",
                             twoSamples());
  ASSERT_TRUE(imported.status.ok()) << imported.status;
  EXPECT_THAT(imported.report.notes,
              ::testing::Contains(HasSubstr("loop or branch: v.")));
}

TEST(BodyWeights, AreExportedToWhereTheyWere) {
  TrainedWeight weight;
  weight.dtype = "F32";
  weight.shape = {2, 2};
  const std::vector<float> values = {1.5, 2.5, 3.5, 4.5};
  weight.read = [&](const std::string &) {
    return absl::StatusOr<std::string>(
        std::string(reinterpret_cast<const char *>(values.data()), 16));
  };
  Exported exported = exportText(kModel, {{"b.then_branch.w", weight}});
  ASSERT_TRUE(exported.status.ok()) << exported.status;
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(exported.files.bytes));
  const onnx::NodeProto &branch = model.graph().node(1);
  ASSERT_EQ(branch.op_type(), "If");
  const onnx::TensorProto &left = branch.attribute(0).g().initializer(0);
  EXPECT_EQ(left.name(), "w");
  ASSERT_EQ(left.float_data_size(), 4);
  EXPECT_EQ(left.float_data(3), 4.5);
  EXPECT_EQ(model.graph().initializer(0).float_data(0), 1);
}

} // namespace

} // namespace zerograph::frontend::testing
