//===- EmptyTest.cpp - tensors without elements ---------------------------===//

#include "tests/frontend/Evaluate.h"

namespace zerograph::frontend::testing {

namespace {

// As of a head that adds no features to those of the embedding.
TEST(Empty, AnInitializerIsNoParameter) {
  Imported imported = import(R"(
g (float[2, 3] x) => (float loss)
<float[3, 2] w = {1,2,3,4,5,6}, float[0, 3] more = {}, float[0] unused = {}>
{
  t = Transpose(w)
  both = Concat<axis = 0>(t, more)
  b = Transpose(both)
  y = MatMul(x, b)
  loss = ReduceSum<keepdims = 0>(y)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_EQ(imported.report.parameters.size(), 1u);
  EXPECT_EQ(imported.report.parameters[0].name, "w");
  EXPECT_EQ(run(imported, {{1, 0, 0, 0, 1, 0}, {1, 2, 3, 4, 5, 6}}),
            Numbers{10});
}

TEST(Empty, WhatIsMadeOfNothingIsNothing) {
  Imported imported = import(R"(
g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z, float[3] sum)
<float[0, 3] w = {}, float[3] bias = {1,2,3}>
{
  a = Add(w, bias)
  b = Relu(a)
  y = Concat<axis = 0>(b, x)
  begin = Constant<value_ints = [0]>()
  part = Slice(x, begin, begin, begin)
  scaled = Mul(part, bias)
  z = Concat<axis = 0>(x, scaled)
  squares = Abs(w)
  sum = ReduceSum<keepdims = 0>(squares, begin)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  auto results = runAll(imported, {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(results[0], (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(results[1], (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(results[2], (Numbers{0, 0, 0}));
}

TEST(Empty, AnOutputIsRefused) {
  expectRefused(R"(
g (float[2, 3] x) => (float[0, 3] y, float[2, 3] z) <float[0, 3] w = {}>
{
  y = Relu(w)
  z = Relu(x)
})",
                {"'y'", "empty"});
}

} // namespace

} // namespace zerograph::frontend::testing
