//===- ControlFlowTest.cpp - branches taken, loops unrolled ---------------===//

#include "tests/frontend/Evaluate.h"

namespace zerograph::frontend::testing {

namespace {

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Takes the first branch when x has `rows` rows.
std::string branches(int rows) {
  return R"(
g (float[2] x) => (float[2] y) {
  rows = Constant <value_ints = [)" +
         std::to_string(rows) + R"(]> ()
  s = Shape(x)
  equal = Equal(s, rows)
  c = Squeeze(equal)
  two = Constant <value_float = 2.0> ()
  [pick] y = If (c) <
    then_branch = yes () => (float[2] a) { [twice] a = Mul(x, two) },
    else_branch = no () => (float[2] b) { [more] b = Add(x, two) }>
})";
}

TEST(If, TakesTheBranchThatShapesDecide) {
  Imported yes = import(branches(2)), no = import(branches(3));
  EXPECT_EQ(run(yes, {{5, 7}}), (Numbers{10, 14}));
  EXPECT_EQ(run(no, {{5, 7}}), (Numbers{7, 9}));
  yes.module.get()->walk([](mlir::zg::nn::BinaryOp op) {
    EXPECT_EQ(mlir::zg::nn::nameOf(op.getLoc()), "pick.then/twice");
  });
}

TEST(If, RefusesAConditionOnData) {
  expectRefused(import(R"(
g (float[2] x, bool c) => (float[2] y) {
  [pick] y = If (c) <
    then_branch = yes () => (float[2] a) { a = Neg(x) },
    else_branch = no () => (float[2] b) { b = Abs(x) }>
})"),
                {"node 'pick' (If): the condition", "input 'c'", "Where"});
}

TEST(If, BranchesNotTakenMayHoldAnything) {
  Imported imported = import(R"(
g (float[2] x) => (float[2] y) {
  c = Constant <value_int = 1> ()
  b = Cast <to = 9> (c)
  y = If (b) <
    then_branch = yes () => (float[2] a) { a = Neg(x) },
    else_branch = no () => (float[2] b) { b = NonZero(x) }>
})");
  EXPECT_EQ(run(imported, {{5, 7}}), (Numbers{-5, -7}));
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

TEST(Loop, CarriesCollectsAndCaptures) {
  // h becomes h * w + i; the squares are collected.
  Imported imported = import(R"(
g (float[2] x, float w) => (float[3, 2] all) {
  n = Constant <value_int = 3> ()
  [steps] last, all = Loop (n, , x) <
    body = b (int64 i, bool c, float[2] h) =>
             (bool d, float[2] k, float[2] square) {
      d = Identity(c)
      f = Cast <to = 1> (i)
      [scaled] m = Mul(h, w)
      k = Add(m, f)
      square = Mul(k, k)
    }>
})");
  EXPECT_EQ(run(imported, {{1, 3}, {2}}), (Numbers{4, 36, 25, 169, 144, 784}));
  EXPECT_TRUE(imported.has("tensor<1x2xf32>"));
  std::set<std::string> names;
  imported.module.get()->walk([&](mlir::zg::nn::BinaryOp op) {
    names.insert(mlir::zg::nn::nameOf(op.getLoc()));
  });
  EXPECT_EQ(names.count("steps[0]/scaled"), 1u);
  EXPECT_EQ(names.count("steps[2]/scaled"), 1u);
}

TEST(Loop, StopsWhenTheConditionFolds) {
  Imported imported = import(R"(
g (float[1] x) => (float[1] y) {
  n = Constant <value_int = 100> ()
  go = Constant <value_int = 1> ()
  b = Cast <to = 9> (go)
  y = Loop (n, b, x) <
    body = b (int64 i, bool c, float[1] h) => (bool d, float[1] k) {
      four = Constant <value_int = 4> ()
      d = Less(i, four)
      k = Add(h, h)
    }>
})");
  EXPECT_EQ(run(imported, {{1}}), (Numbers{32}));
}

TEST(Loop, BuildsSequences) {
  Imported imported = import(R"(
g (float[4] x) => (float[4] y) {
  n = Constant <value_int = 4> ()
  none = SequenceEmpty ()
  parts = Loop (n, , none) <
    body = b (int64 i, bool c, seq(float[1]) s) => (bool d, seq(float[1]) t) {
      d = Identity(c)
      zero = Constant <value_int = 0> ()
      z = Constant <value_ints = [0]> ()
      at = Unsqueeze(i, z)
      one = Gather(x, at)
      t = SequenceInsert(s, one, zero)
    }>
  y = ConcatFromSequence <axis = 0> (parts)
})");
  EXPECT_EQ(run(imported, {{1, 2, 3, 4}}), (Numbers{4, 3, 2, 1}));
}

TEST(Loop, ParametersInsideAreTrained) {
  Imported imported = import(R"(
g (float[2] x) => (float loss) <float[2] w = {1, 2}, float[2] b = {3, 4}> {
  n = Constant <value_int = 2> ()
  y = Loop (n, , x) <
    body = b (int64 i, bool c, float[2] h) => (bool d, float[2] k) {
      d = Identity(c)
      k = Mul(h, w)
      unused = Add(h, b)
    }>
  loss = ReduceSum <keepdims = 0> (y)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  auto w = imported.parameter("w");
  ASSERT_TRUE(w);
  EXPECT_TRUE(w.getTrainable());
  EXPECT_EQ(w.getInit(), mlir::zg::nn::InitKind::ones);
  EXPECT_FALSE(imported.parameter("b"));
}

TEST(Loop, Nests) {
  Imported imported = import(R"(
g (float[1] x) => (float[1] y) {
  n = Constant <value_int = 3> ()
  y = Loop (n, , x) <
    body = outer (int64 i, bool c, float[1] h) => (bool d, float[1] k) {
      d = Identity(c)
      k = Loop (i, , h) <
        body = inner (int64 j, bool e, float[1] p) => (bool f, float[1] q) {
          f = Identity(e)
          both = Add(i, j)
          t = Cast <to = 1> (both)
          q = Add(p, t)
        }>
    }>
})");
  // (1+0) + (2+0) + (2+1)
  EXPECT_EQ(run(imported, {{0}}), (Numbers{6}));
}

TEST(Loop, RefusesATripCountOnData) {
  expectRefused(import(R"(
g (float[2] x, int64 n) => (float[2] y) {
  [steps] y = Loop (n, , x) <
    body = b (int64 i, bool c, float[2] h) => (bool d, float[2] k) {
      d = Identity(c)
      k = Add(h, h)
    }>
})"),
                {"node 'steps' (Loop): the trip count", "input 'n'"});
}

TEST(Loop, RefusesAConditionOnData) {
  expectRefused(
      import(R"(
g (float x) => (float y) {
  n = Constant <value_int = 9> ()
  [steps] y = Loop (n, , x) <
    body = b (int64 i, bool c, float h) => (bool d, float k) {
      k = Add(h, h)
      ten = Constant <value_float = 10.0> ()
      d = Less(k, ten)
    }>
})"),
      {"node 'steps' (Loop): the condition after iteration 0", "input 'x'"});
}

TEST(Loop, RefusesToUnrollWithoutEnd) {
  expectRefused(import(R"(
g (float x) => (float y) {
  [steps] y = Loop ( , , x) <
    body = b (int64 i, bool c, float h) => (bool d, float k) {
      d = Identity(c)
      k = Add(h, h)
    }>
})"),
                {"node 'steps' (Loop): unrolls into more than 16384 nodes"});
}

TEST(Loop, ReportsABodyOnceWithAllItsProblems) {
  Imported imported = import(R"(
g (float[2] x) => (float[2] y) {
  n = Constant <value_int = 5> ()
  [steps] y = Loop (n, , x) <
    body = b (int64 i, bool c, float[2] h) => (bool d, float[2] k) {
      d = Identity(c)
      [one] a = Wobble(h)
      [two] b = Wabble(h)
      k = Add(a, b)
    }>
})");
  expectRefused(imported, {"2 nodes", "node 'steps[0]/one' (Wobble)",
                           "node 'steps[0]/two' (Wabble)"});
}

TEST(Loop, RefusesUndefinedValuesInside) {
  expectRefused(import(R"(
g (float[2] x) => (float[2] y) {
  n = Constant <value_int = 5> ()
  [steps] y = Loop (n, , x) <
    body = b (int64 i, bool c, float[2] h) => (bool d, float[2] k) {
      d = Identity(c)
      k = Add(h, ghost)
    }>
})"),
                {"node 'steps' reads 'ghost'"});
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

TEST(Scan, RunsOverAnAxisBackwards) {
  // Running sums from the right, collected along axis 1.
  Imported imported = import(R"(
g (float[2, 3] x, float[2] h0) => (float[2, 3] y) {
  last, y = Scan <num_scan_inputs = 1, scan_input_axes = [1],
                  scan_input_directions = [1], scan_output_axes = [1],
                  scan_output_directions = [1],
    body = b (float[2] h, float[2] v) => (float[2] k, float[2] o) {
      k = Add(h, v)
      o = Identity(k)
    }> (h0, x)
})");
  EXPECT_EQ(run(imported, {{1, 2, 3, 4, 5, 6}, {0, 10}}),
            (Numbers{6, 5, 3, 25, 21, 16}));
}

TEST(Scan, RefusesInputsOfDifferentLength) {
  expectRefused(import(R"(
g (float[2] x, float[3] z) => (float[2] y) {
  [steps] y = Scan <num_scan_inputs = 2,
    body = b (float v, float w) => (float o) { o = Add(v, w) }> (x, z)
})"),
                {"node 'steps' (Scan): its scan inputs have 2 and 3 elements"});
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

TEST(Sequence, InsertsErasesAndCounts) {
  Imported imported = import(R"(
g (float[1] a, float[1] b, float[1] c) => (float[3] y) {
  s = SequenceConstruct(a, b, c)
  one = Constant <value_int = 1> ()
  t = SequenceErase(s, one)
  u = SequenceInsert(t, b)
  n = SequenceLength(u)
  v = ConcatFromSequence <axis = 0> (u)
  f = Cast <to = 1> (n)
  y = Mul(v, f)
})");
  EXPECT_EQ(run(imported, {{1}, {2}, {3}}), (Numbers{3, 9, 6}));
}

TEST(Sequence, RefusesAPositionOutside) {
  expectRefused(import(R"(
g (float[1] a) => (float[1] y) {
  s = SequenceConstruct(a)
  two = Constant <value_int = 2> ()
  [put] t = SequenceInsert(s, a, two)
  y = ConcatFromSequence <axis = 0> (t)
})"),
                {"node 'put' (SequenceInsert): position 2", "1 elements"});
}

} // namespace

} // namespace zerograph::frontend::testing
