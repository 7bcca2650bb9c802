//===- StableLogTest.cpp - logarithms of what exponentials make -----------===//
//
// Tests what becomes of each form; tests/tools/losses_test.py compares numbers
// with PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cmath>

namespace zerograph::frontend::testing {

namespace {

/// y [2, 3] or [2, 1] made of x [2, 3] by `nodes`; `one` is 1.
Imported form(const std::string &nodes, const std::string &y = "2, 3",
              const std::string &type = "float") {
  return import(absl::StrCat(
      "g (", type, "[2, 3] x, int64[2, 1] i) => (", type, "[", y, "] y) <",
      type, " one = {1}, int64[1] last = {1}> {\n", nodes, "\n}"));
}

const std::vector<Numbers> kX = {{-1000, -20, 0, 1, 90, 1000}, {2, 0}};

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

template <typename F>
void expectElements(const Imported &imported, F expected) {
  Numbers got = run(imported, kX);
  ASSERT_EQ(got.size(), kX[0].size());
  for (size_t i = 0; i < got.size(); ++i) {
    double wanted = expected(kX[0][i]);
    // The program's constants, as log(2), are floats.
    EXPECT_NEAR(got[i], wanted, 1e-8 + 2e-7 * std::abs(wanted)) << kX[0][i];
  }
}

bool saysSo(const Imported &imported) {
  return absl::StrJoin(imported.report.notes, "\n")
             .find("nothing overflows or vanishes") != std::string::npos;
}

TEST(StableLog, OfASigmoid) {
  Imported imported = form("s = Sigmoid (x) y = Log (s)");
  expectElements(imported, [](double x) { return -softplus(-x); });
  EXPECT_TRUE(saysSo(imported));
  EXPECT_EQ(imported.count("nn.unary"), 6); // neg abs neg exp log1p neg
}

TEST(StableLog, OfOneLessASigmoid) {
  for (std::string complement :
       {"t = Sub (one, s)", "m = Neg (s) t = Add (m, one)",
        "m = Neg (s) t = Add (one, m)"}) {
    expectElements(form("s = Sigmoid (x) " + complement + " y = Log (t)"),
                   [](double x) { return -softplus(x); });
  }
}

TEST(StableLog, OfOneAndAnExponential) {
  for (std::string sum : {"t = Add (one, e)", "t = Add (e, one)"}) {
    expectElements(form("e = Exp (x) " + sum + " y = Log (t)"), softplus);
  }
}

TEST(StableLog, OfAMultipleOfTwoExponentials) {
  expectElements(form("e = Exp (x) m = Neg (x) f = Exp (m) s = Add (e, f) "
                      "two = Constant <value_float = 2.0> () "
                      "t = Div (s, two) y = Log (t)"),
                 [](double x) {
                   return std::abs(x) + std::log1p(std::exp(-2 * std::abs(x))) -
                          std::log(2.0);
                 });
}

TEST(StableLog, OfPowersOfTwo) {
  expectElements(form("two = Constant <value_float = 2.0> () "
                      "e = Pow (two, x) t = Add (e, one) y = Log (t)"),
                 [](double x) { return softplus(x * std::log(2.0)); });
}

TEST(StableLog, OfASumAlongAnAxis) {
  Numbers got =
      run(form("e = Exp (x) s = ReduceSum (e, last) y = Log (s)", "2, 1"), kX);
  EXPECT_NEAR(got[0], 0, 1e-7);
  EXPECT_NEAR(got[1], 1000, 1e-4);
}

TEST(StableLog, OfASoftmaxAtItsLabels) {
  Imported imported = form("p = Softmax (x) g = GatherElements <axis = 1> (p, "
                           "i) y = Log (g)",
                           "2, 1");
  Numbers got = run(imported, kX);
  EXPECT_NEAR(got[0], -2.061e-9, 1e-12);
  EXPECT_NEAR(got[1], -999, 1e-9);
  EXPECT_EQ(imported.count("nn.softmax"), 0);
}

TEST(StableLog, OfOneAndMoreIsPrecise) {
  Imported imported = form("t = Add (x, one) y = Log (t)");
  EXPECT_NEAR(run(imported, {{1e-9, 0, 1, 2, 3, 4}, {0, 0}})[0], 1e-9, 1e-15);
  EXPECT_FALSE(saysSo(imported)); // it is infinite at -1
}

TEST(StableLog, OneLessThanAnExponentialIsPrecise) {
  Imported imported = form("e = Exp (x) y = Sub (e, one)");
  EXPECT_TRUE(imported.has("nn.unary expm1"));
  EXPECT_NEAR(run(imported, {{1e-9, 0, 1, 2, 3, 4}, {0, 0}})[0], 1e-9, 1e-15);
  EXPECT_FALSE(saysSo(imported));
}

/// As PyTorch decomposes it; of a sigmoid its logarithms are stable.
TEST(StableLog, OfACrossEntropyOfProbabilities) {
  std::string loss = "p = Softmax (x) low = Constant <value_float = -100.0> () "
                     "t = Sigmoid (x) less = Sub (t, one) n = Neg (p) "
                     "o = Add (n, one) l = Log (o) b = Max (l, low) "
                     "no = Mul (less, b) k = Log (p) c = Max (k, low) "
                     "yes = Mul (t, c) y = Sub (no, yes)";
  auto expect = [&](bool found, bool stable) {
    Imported imported = form(loss);
    EXPECT_EQ(imported.has("nn.binary cross_entropy"), found) << loss;
    EXPECT_EQ(saysSo(imported), stable) << loss;
  };
  expect(true, false);
  loss.replace(loss.find("Softmax"), 7, "Sigmoid");
  expect(false, true);
  loss.replace(loss.find("Sigmoid"), 7, "Softmax");
  loss.replace(loss.find("-100.0"), 6, "-50.0");
  expect(false, true);
}

// Infinite masks stay what they are.
TEST(StableLog, OfNothing) {
  double minus = -INFINITY;
  Numbers x = {minus, minus, minus, 0, minus, 1};
  for (auto [nodes, y] :
       {std::pair("e = Exp (x) s = ReduceSum (e, last) y = Log (s)", "2, 1"),
        std::pair("e = Exp (x) t = Add (e, e) y = Log (t)", "2, 3")}) {
    EXPECT_EQ(run(form(nodes, y), {x, {0, 0}})[0], minus);
  }
}

TEST(StableLog, CrossEntropyDoesNotCancel) {
  for (std::string loss :
       {"a = Mul (t, x) y = Sub (a, l)",
        "two = Constant <value_float = 2.0> () w = Mul (two, l) "
        "a = Mul (x, t) y = Sub (a, w)"}) {
    Imported imported =
        form("s = Sigmoid (x) l = Log (s) t = Identity (one) " + loss);
    double weight = loss.find("two") == std::string::npos ? 1 : 2;
    expectElements(imported, [&](double x) {
      return softplus(x) + (weight - 1) * softplus(-x);
    });
  }
}

// Much like the logarithm of a sigmoid, with another bound or exponent.
TEST(StableLog, OtherSumsAreNoCrossEntropy) {
  for (auto [bound, inner] :
       {std::pair("one", "exp"), std::pair("zero", "half")}) {
    Imported imported = form(absl::StrCat(
        "zero = Constant <value_float = 0.0> () n = Neg (x) m = Max (n, ",
        bound,
        ") a = Abs (n) b = Neg (a) exp = Exp (b) two = Add (one, one) "
        "half = Div (exp, two) u = Add (",
        inner,
        ", one) l = Log (u) s = Add (m, l) p = Neg (s) "
        "t = Identity (one) w = Mul (t, x) y = Sub (w, p)"));
    double low = bound == std::string("one") ? 1 : 0;
    double part = inner == std::string("half") ? 0.5 : 1;
    expectElements(imported, [&](double x) {
      return x + std::max(-x, low) + std::log1p(part * std::exp(-std::abs(x)));
    });
  }
}

// Stable already, or none of this pass's business: computed as written.
TEST(StableLog, OtherLogarithmsStay) {
  for (std::string nodes :
       {"y = Log (x)", "s = Sigmoid (x) t = Add (s, s) y = Log (t)",
        "e = Exp (x) t = Sub (e, one) y = Log (t)",
        "m = ReduceMax <axes = [1]> (x) d = Sub (x, m) e = Exp (d) "
        "f = Exp (d) t = Add (e, f) y = Log (t)",
        "e = Exp (x) n = Neg (one) t = Add (e, n) y = Log (t)",
        "p = Sigmoid (x) low = Constant <value_float = 1e-7> () "
        "c = Clip (p, low) y = Log (c)"}) {
    Imported imported = import("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                               "g (float[2, 3] x) => (float[2, 3] y) "
                               "<float one = {1}> {\n" +
                               nodes + "\n}");
    EXPECT_TRUE(imported.status.ok()) << nodes << imported.error();
    EXPECT_FALSE(saysSo(imported)) << nodes;
    EXPECT_EQ(imported.count("nn.softmax"), 0);
  }
}

// A sum that reads another twice, again and again, is looked at once.
TEST(StableLog, ASumOfSumsEnds) {
  std::string nodes = "s0 = Exp (x)\n";
  for (int i = 0; i < 64; ++i) {
    absl::StrAppend(&nodes, "s", i + 1, " = Add (s", i, ", s", i, ")\n");
  }
  EXPECT_FALSE(saysSo(form(nodes + "y = Log (s64)")));
}

TEST(StableLog, TheNoteNamesTheFirstNodes) {
  std::string nodes = "s = Sigmoid (x)\n";
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&nodes, "[log", i, "] l", i, " = Log (s)\n");
  }
  Imported imported = form(nodes + "y = Sum (l0, l1, l2, l3, l4, l5, l6, l7)");
  std::string notes = absl::StrJoin(imported.report.notes, "\n");
  EXPECT_NE(notes.find("8 nodes are computed so"), std::string::npos);
  EXPECT_NE(notes.find("'log5' (log(sigmoid(x))) and 2 more"),
            std::string::npos)
      << notes;
}

} // namespace

} // namespace zerograph::frontend::testing
