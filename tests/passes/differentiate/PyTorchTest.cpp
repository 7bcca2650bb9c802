//===- PyTorchTest.cpp - gradients where a function has none --------------===//
//
// Nodes as PyTorch's exporters write its functions, at points where the formula
// of a gradient is 0 / 0 or infinite; the numbers are those of PyTorch.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Fixture.h"
#include "tests/passes/differentiate/NodeGradient.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir::zg::testing;
using zerograph::frontend::testing::parse;

namespace {

using Numbers = std::vector<double>;

/// The gradient of x [2, 3], which `values` lists, of the sum of y, which
/// `nodes` compute.
Numbers gradient(const std::string &nodes, const Numbers &values,
                 const std::string &extra = "") {
  onnx::ModelProto model = parse(absl::StrCat(
      "g () => (double loss) <double zero = {0}, "
      "double one = {1}, double two = {2}, double three = {3}, "
      "double half = {0.5}, int64[1] last = {1}",
      extra, "> {\n", nodes, "\nloss = ReduceSum <keepdims = 0> (y)\n}"));
  onnx::TensorProto &x = *model.mutable_graph()->add_initializer();
  x.set_name("x");
  x.set_data_type(onnx::TensorProto::DOUBLE);
  x.add_dims(2);
  x.add_dims(3);
  x.mutable_double_data()->Assign(values.begin(), values.end());
  auto gradients = gradientsOf(model, {"x"});
  EXPECT_TRUE(gradients.ok()) << nodes << gradients.status();
  return gradients.ok() ? (*gradients)["x"] : Numbers();
}

void expectNear(const Numbers &got, const Numbers &wanted,
                const std::string &what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1e-12 * (1 + std::abs(wanted[i])))
        << what << " [" << i << "]";
  }
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// The centered squares of a row, as var and std begin.
const std::string kSquares = "m = ReduceMean <keepdims = 1> (x, last) "
                             "d = Sub (x, m) s = Mul (d, d) "
                             "v = ReduceMean <keepdims = 1> (s, last) ";

/// A row of equal numbers has no gradient; the other one has.
TEST(PyTorchGradient, StandardDeviationOfEqualNumbers) {
  for (std::string root :
       {"n = Mul (v, three) w = Div (n, two) y = Sqrt (w)",
        "n = Mul (v, three) w = Div (n, two) p = Add (w, zero) y = Sqrt (p)",
        "n = Mul (three, v) w = Div (n, two) y = Pow (w, half)",
        "n = Mul (v, three) w = Div (n, two) e = Expand (w, last) "
        "y = Sqrt (e)",
        "n = Mul (v, three) w = Div (n, two) c = Max (w, zero) y = Sqrt (c)",
        "n = Mul (v, three) w = Div (n, two) c = Relu (w) y = Sqrt (c)"}) {
    std::string nodes = kSquares + root;
    expectNear(gradient(nodes, {5, 5, 5, 1, 2, 3}), {0, 0, 0, -0.5, 0, 0.5},
               nodes);
  }
}

TEST(PyTorchGradient, NormOfZeros) {
  for (std::string norm :
       {"y = ReduceL2 (x, last)", "q = ReduceSumSquare (x, last) y = Sqrt (q)",
        "p = Pow (x, two) q = ReduceSum (p, last) y = Sqrt (q)",
        "p = Pow (x, two) q = ReduceSum (p, last) y = Pow (q, half)",
        "p = Mul (x, x) q = ReduceSum (p, last) y = Pow (q, half)",
        "a = Abs (x) p = Pow (a, two) q = ReduceSum (p, last) "
        "y = Pow (q, half)",
        "u = Unsqueeze (x, last) t = Transpose <perm = [0, 2, 1]> (u) "
        "q = MatMul (u, t) y = Sqrt (q)",
        "q = Einsum <equation = \"bi,bi->b\"> (x, x) y = Sqrt (q)",
        "p = Mul (x, x) w = Mul (p, weights) q = ReduceSum (w, last) "
        "y = Sqrt (q)"}) {
    expectNear(
        gradient(norm, {0, 0, 0, 0, 3, -4}, ", double[3] weights = {1, 1, 1}"),
        {0, 0, 0, 0, 0.6, -0.8}, norm);
  }
  Numbers cubic = gradient("third = Div (one, three) a = Abs (x) "
                           "p = Pow (a, three) q = ReduceSum (p, last) "
                           "y = Pow (q, third)",
                           {0, 0, 0, 0, 2, 0});
  expectNear(cubic, {0, 0, 0, 0, 1, 0}, "of order 3");
}

/// Its slope is infinite there, in PyTorch too.
TEST(PyTorchGradient, RootOfAParameterThatIsZero) {
  for (const char *root : {"y = Sqrt (x)", "y = Pow (x, half)"}) {
    Numbers got = gradient(root, {0, 4, 1, 1, 1, 1});
    EXPECT_TRUE(std::isinf(got[0])) << root;
    EXPECT_EQ(got[1], 0.25);
  }
}

/// One divided by a root that is 0 is infinite; its gradient is a number.
TEST(PyTorchGradient, ReciprocalOfARoot) {
  Numbers got = gradient("p = Mul (x, x) q = ReduceSum (p, last) "
                         "s = Sqrt (q) y = Div (one, s)",
                         {0, 0, 0, 0, 3, -4});
  expectNear(got, {0, 0, 0, 0, -3. / 125, 4. / 125}, "1 / sqrt");
}

//===----------------------------------------------------------------------===//
// Binary cross entropy
//===----------------------------------------------------------------------===//

/// The cross entropy of a probability p, made of x, and the target t.
const std::string kCrossEntropy =
    " lessOne = Sub (t, one) n = Neg (p) o = Add (n, one) l = Log (o) "
    "least = Expand (low, shape) b = Max (l, least) no = Mul (lessOne, b) "
    "k = Log (p) c = Max (k, least) yes = Mul (t, c) y = Sub (no, yes)";

const std::string kTargets =
    ", double[2, 3] t = {0, 1, 0, 1, 0.5, 1}, double low = {-100}, "
    "int64[2] shape = {2, 3}";

/// (p - t) / max((1 - p) p, 1e-12), whatever p is made of.
TEST(PyTorchGradient, CrossEntropyOfAProbabilityThatIsZeroOrOne) {
  double inner = (0.25 - 0.5) / (0.75 * 0.25);
  Numbers p = {0, 0, 1, 1, 0.25, 0.5};
  Numbers wanted = {0, -1e12, 1e12, 0, inner, -2};
  expectNear(gradient("p = Identity (x)" + kCrossEntropy, p, kTargets), wanted,
             "of x");
  for (double &each : wanted) {
    each = -each;
  }
  Numbers complement;
  for (double each : p) {
    complement.push_back(1 - each);
  }
  expectNear(gradient("p = Sub (one, x)" + kCrossEntropy, complement, kTargets),
             wanted, "of 1 - x");
}

TEST(PyTorchGradient, CrossEntropyOfASoftmax) {
  Numbers got = gradient("p = Softmax <axis = 1> (x)" + kCrossEntropy,
                         {0, 1000, 0, 1000, 0, 0}, kTargets);
  // p is 0, 1, 0 and 1, 0, 0: of the slopes, what softmax leaves is 0.
  expectNear(got, {0, 0, 0, 0, 0, 0}, "of a softmax");
}

/// A clamp of a logarithm gives no infinity times 0.
TEST(PyTorchGradient, ClampedLogarithmOfZero) {
  for (const char *bound : {"y = Max (l, low)", "y = Clip (l, low)",
                            "least = Expand (low, shape) y = Max (l, least)",
                            "g = Greater (l, low) y = Where (g, l, low)"}) {
    expectNear(gradient(std::string("l = Log (x) ") + bound,
                        {0, 1, 2, 0, 4, 0.5}, kTargets),
               {0, 1, 0.5, 0, 0.25, 2}, bound);
  }
}

//===----------------------------------------------------------------------===//
// Ties
//===----------------------------------------------------------------------===//

TEST(PyTorchGradient, TheIndexThatMaxReturnedGetsIt) {
  Numbers x = {1, 3, 3, 2, 2, 2};
  std::string place = "i = ArgMax <axis = 1, keepdims = 0> (x) "
                      "f = Cast <to = 11> (i) ";
  expectNear(gradient(place + "m = ReduceMax <keepdims = 0> (x, last) "
                              "y = Add (m, f)",
                      x),
             {0, 1, 0, 1, 0, 0}, "max(dim)");
  expectNear(gradient("y = ReduceMax (x, last)", x),
             {0, 0.5, 0.5, 1. / 3, 1. / 3, 1. / 3}, "amax");
  expectNear(gradient("y = ReduceMax (x)", x), {0, 0.5, 0.5, 0, 0, 0}, "max()");
  expectNear(
      gradient("y = Max (x, w)", x, ", double[2, 3] w = {2, 2, 2, 2, 2, 2}"),
      {0, 1, 1, 0.5, 0.5, 0.5}, "maximum");
}

/// So does a pool, that of everything as well.
TEST(PyTorchGradient, TheFirstOfAPoolGetsIt) {
  for (const char *pool :
       {"y = MaxPool <kernel_shape = [3]> (u)", "y = GlobalMaxPool (u)"}) {
    expectNear(gradient(std::string("u = Unsqueeze (x, last) ") + pool,
                        {1, 3, 3, 2, 2, 2}),
               {0, 1, 0, 1, 0, 0}, pool);
  }
}

} // namespace
