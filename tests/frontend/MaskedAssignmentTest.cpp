//===- MaskedAssignmentTest.cpp - x[mask] = value -------------------------===//
//
// As PyTorch's exporters write it: a ScatterND at the places of a mask.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend::testing {

namespace {

/// `x[mask] = value`, where `nodes` make `mask` of `m` and `updates` of what
/// there is: `count` is the number of places.
Imported assign(const std::string &nodes,
                const std::string &inputs = "float[2, 3] x, bool[2, 3] m",
                const std::string &attributes = "") {
  return import(absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                             "g (",
                             inputs, ") => (float[2, 3] y) {", R"(
  back = Constant <value_ints = [-1]> ()
  zero = Constant <value_int = 0> ()
  two = Constant <value = float {2.0}> ()
  )",
                             nodes, R"(
  shape = Shape(x)
  full = Expand(mask, shape)
  found = NonZero(full)
  places = Transpose <perm = [1, 0]> (found)
  y = ScatterND )",
                             attributes, R"((x, places, updates)
})"));
}

/// The number of places, counted in the mask, as the dynamo exporter does.
const char *const kCount = R"(
  flat = Reshape(m, back)
  ones = Cast <to = 7> (flat)
  count = ReduceSum(ones)
)";

const Numbers kX = {1, 2, 3, 4, 5, 6}, kMask = {1, 0, 0, 0, 1, 1};

TEST(MaskedAssignment, OfAScalar) {
  Imported imported = assign(absl::StrCat(kCount, R"(
  mask = Identity(m)
  value = Identity(two)
  all = Expand(value, count)
  updates = Reshape(all, back)
)"));
  EXPECT_EQ(run(imported, {kX, kMask}), (Numbers{2, 2, 3, 4, 2, 2}));
  EXPECT_EQ(imported.count("nn.scatter"), 0);
}

TEST(MaskedAssignment, ByAMaskOfNumbers) {
  Imported imported = assign("mask = Identity(m) all = Expand(two, one) "
                             "one = Constant <value_ints = [3]> () "
                             "updates = Identity(all)",
                             "float[2, 3] x, int64[2, 3] m");
  EXPECT_EQ(run(imported, {kX, {7, 0, 0, 0, -1, 1}}),
            (Numbers{2, 2, 3, 4, 2, 2}));
}

// As the dynamo exporter writes x[mask] = z[mask].
TEST(MaskedAssignment, OfAnotherTensor) {
  Imported imported = assign(absl::StrCat(kCount, R"(
  mask = Identity(m)
  n = NonZero(full)
  at = Transpose(n)
  read = GatherND(z, at)
  all = Expand(read, count)
  updates = Reshape(all, back)
)"),
                             "float[2, 3] x, bool[2, 3] m, float[2, 3] z");
  EXPECT_EQ(run(imported, {kX, kMask, {10, 20, 30, 40, 50, 60}}),
            (Numbers{10, 2, 3, 4, 50, 60}));
}

// The values at the places are y's, not those of y broadcast.
/// `x[m] = row`, a mask of rows, for a row of this type.
Imported assignRow(const std::string &row) {
  return assign(absl::StrCat(kCount, R"(
  last = Constant <value_ints = [1]> ()
  end = Constant <value_ints = [2]> ()
  mask = Unsqueeze(m, last)
  dims = Shape(x)
  c = Slice(dims, last, end)
  wanted = Concat <axis = 0> (count, c)
  all = Expand(row, wanted)
  updates = Reshape(all, back)
)"),
                absl::StrCat("float[2, 3] x, bool[2] m, ", row, " row"));
}

// A masked token: every row that the mask chooses becomes the same.
TEST(MaskedAssignment, OfOneRow) {
  for (std::string row : {"float[3]", "float[1, 3]"}) {
    Imported imported = assignRow(row);
    EXPECT_EQ(run(imported, {kX, {0, 1}, {7, 8, 9}}),
              (Numbers{1, 2, 3, 7, 8, 9}));
    EXPECT_EQ(imported.count("nn.scatter"), 0);
  }
}

// Each place would have another value; which, only the mask knows.
TEST(MaskedAssignment, RefusesRowsThatTheMaskChoosesFrom) {
  expectRefused(assignRow("float[2, 1]"), {"values of shape 2x1"});
  expectRefused(assign(absl::StrCat(kCount, R"(
  mask = Identity(m)
  all = Expand(row, count)
  updates = Reshape(all, back)
)"),
                       "float[2, 3] x, bool[2, 3] m, float[3] row"),
                {"values of shape 3"});
}

TEST(MaskedAssignment, RefusesValuesOfOtherShapes) {
  const char *const kRead = R"(
  mask = Identity(m)
  at = Transpose(n)
  n = NonZero(full)
  updates = GatherND(z, at)
)";
  expectRefused(assign(kRead, "float[1, 3] x, bool[1, 3] m, float[4, 3] z"),
                {"assigns, where a mask says so, values of shape"});
  expectRefused(assign(kRead, "float[2, 3] x, bool[2, 3] m, float[2, 1] z"),
                {"assigns, where a mask says so, values of shape 2x1"});
}

TEST(MaskedAssignment, OfWhatIsReadAtTheSamePlaces) {
  // As the TorchScript exporter does: as many updates as places.
  Imported imported = assign(R"(
  mask = Identity(m)
  n = NonZero(m)
  at = Transpose(n)
  read = GatherND(x, at)
  double = Mul(read, two)
  less = Sub(double, read)
  more = Add(less, less)
  flat = Reshape(more, back)
  length = Shape(places)
  first = Gather(length, zero)
  start = Constant <value_ints = [0]> ()
  end = Unsqueeze(first, start)
  updates = Slice(flat, start, end, start)
)");
  // 2 * (2 x - x) at the places.
  EXPECT_EQ(run(imported, {kX, kMask}), (Numbers{2, 2, 3, 4, 10, 12}));
}

TEST(MaskedAssignment, RefusesWhatMayNotBeASelect) {
  const char *const kMessage =
      "(NonZero): how many elements are not 0 must be known";
  // One value a place: how many there are is not known.
  expectRefused(assign("mask = Identity(m) updates = "
                       "Constant <value_floats = [1.0, 2.0, 3.0]> ()"),
                {kMessage});
  // A row, of which it depends on the arrangement which element goes where.
  expectRefused(assign(R"(
  mask = Unsqueeze(m, back)
  row = Constant <value_floats = [7.0, 8.0, 9.0]> ()
  updates = Reshape(row, back)
)",
                       "float[2, 3] x, bool[2] m"),
                {kMessage});
  expectRefused(assign(R"(
  mask = Unsqueeze(m, zeros)
  zeros = Constant <value_ints = [0]> ()
  updates = Constant <value_floats = [1.0, 2.0, 3.0]> ()
)",
                       "float[2, 3] x, bool[3] m"),
                {kMessage});
  // Infinities beside the places would have a gradient.
  expectRefused(assign(R"(
  mask = Identity(m)
  n = NonZero(full)
  at = Transpose(n)
  read = GatherND(x, at)
  updates = Mul(read, read)
)"),
                {kMessage});
  expectRefused(assign("mask = Identity(m) updates = Identity(two)",
                       "float[2, 3] x, bool[2, 3] m", "<reduction = \"add\">"),
                {kMessage});
}

// Nothing has checked the nodes when assignments are looked for.
TEST(MaskedAssignment, MalformedGraphsAreRefusedAsBefore) {
  auto graph = [](const std::string &nodes) {
    return import("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                  "g (float[2, 3] x, bool[2, 3] m) => (float[2, 3] y) {" +
                  nodes +
                  "found = NonZero(full) places = Transpose(found) "
                  "y = ScatterND(x, places, updates) }");
  };
  expectRefused(graph("full = Expand(m) updates = Identity(x)"), {"Expand"});
  expectRefused(graph("shape = Shape(x) full = Expand(m, shape) "
                      "updates = GatherND(x)"),
                {"GatherND"});
  expectRefused(graph("shape = Shape(x) full = Expand(m, shape) "
                      "a = Identity(updates) updates = Identity(a)"),
                {"cycle"});
  expectRefused(graph("shape = Shape(x) full = Expand(m, shape) "
                      "a = Neg(updates) updates = Add(a, a)"),
                {"cycle"});
}

} // namespace

} // namespace zerograph::frontend::testing
