//===- ForeignOperatorsTest.cpp - files with more than ai.onnx ------------===//

#include "tests/frontend/Fixture.h"

#include "gmock/gmock.h"

namespace zerograph::frontend::testing {

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Imports a classifier as skl2onnx writes it, with the loss of its scores:
/// `ends` makes the outputs of the probabilities p.
Imported classifier(const std::string &outputs, const std::string &ends) {
  ImportOptions options;
  options.dims["n"] = 8;
  options.added_loss = "cross_entropy";
  options.loss_on = "s";
  return import(
      R"(<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 1, "com.microsoft" : 1]>
g (float[n, 3] x) => ()" +
          outputs + R"() <float[3, 2] w = {1, 2, 3, 4, 5, 6}>
{
  s = MatMul(x, w)
  p = Softmax<axis = 1>(s)
  )" + ends +
          "\n}",
      options);
}

const char kLabel[] =
    "classes = Constant<value = int64[2] {0, 1}>()\n"
    "best = ArgMax<axis = 1>(p)\n"
    "[pick] label = ai.onnx.ml.ArrayFeatureExtractor(classes, best)\n";
const char kDictionary[] = "[zip] d = ai.onnx.ml.ZipMap(p)\n";

TEST(ForeignOperators, OutputsThatTheLossDoesNotNeed) {
  Imported imported = classifier("int64[1, n] label, float[n, 2] p", kLabel);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.isTrained("w"));
  EXPECT_THAT(imported.report.notes,
              Contains(HasSubstr("output 'label' is left out: ai.onnx.ml."
                                 "ArrayFeatureExtractor (node 'pick')")));
  EXPECT_FALSE(imported.has("label\"")) << imported.text();
}

TEST(ForeignOperators, DictionariesOfProbabilities) {
  Imported imported = classifier("int64[1, n] label, float d",
                                 std::string(kLabel) + kDictionary);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_THAT(imported.report.notes,
              Contains(HasSubstr("output 'd' is the tensor 'p', of which "
                                 "ai.onnx.ml.ZipMap (node 'zip')")));
}

TEST(ForeignOperators, ADictionaryBesideItsTensor) {
  Imported imported = classifier("float[n, 2] p, float d", kDictionary);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_FALSE(imported.has("\"d\"")) << imported.text();
}

// An input or output that is left out has no name.
TEST(ForeignOperators, ValuesWithoutNames) {
  Imported imported = classifier(
      "float[n, 2] z, float[n, 2] q",
      "z, \"\" = com.microsoft.Two(x)\n six = Constant<value = float {6}>()\n"
      "q = Clip(p, \"\", six)\n");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.has("\"q\"")) << imported.text();
  EXPECT_FALSE(imported.has("\"z\"")) << imported.text();
}

TEST(ForeignOperators, WithinBranches) {
  Imported imported = classifier(
      "float[n, 2] z, float[n, 2] p",
      "f = com.microsoft.One(x)\n yes = Constant<value = bool {1}>()\n"
      "z = If(yes) <then_branch = a () => (float[n, 2] c) { c = Identity(f) }, "
      "else_branch = b () => (float[n, 2] d) { d = Identity(p) }>\n");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_FALSE(imported.has("\"z\"")) << imported.text();
}

TEST(ForeignOperators, NothingElseIsThere) {
  Imported imported = classifier("int64[1, n] label", kLabel);
  EXPECT_THAT(imported.error(),
              HasSubstr("operators outside ai.onnx are not supported"));
  EXPECT_THAT(imported.error(), HasSubstr("(node 'pick')"));
}

// Cross entropy of these would be silently another loss.
TEST(ForeignOperators, ProbabilitiesOfTwoClassesAreNoScores) {
  ImportOptions options;
  options.dims["n"] = 8;
  options.added_loss = "cross_entropy";
  Imported imported = import(R"(
g (float[n, 3] x) => (float[n, 2] p)
  <float[3, 1] w = {1, 2, 3}, float[1] one = {1}>
{
  s = MatMul(x, w)
  [logistic] second = Sigmoid(s)
  first = Sub(one, second)
  p = Concat<axis = 1>(first, second)
})",
                             options);
  EXPECT_THAT(
      imported.error(),
      HasSubstr("'p' holds probabilities, made by Sigmoid 'logistic'; expected "
                "scores; give --loss bce_with_logits --loss-on s, what they "
                "are made of, with labels of its shape"));
}

} // namespace

} // namespace zerograph::frontend::testing
