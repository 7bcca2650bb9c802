//===- GraphHashTest.cpp --------------------------------------------------===//

#include "runtime/io/GraphHash.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

using namespace zerograph;

namespace {

/// Returns a field of a message: a number, or bytes.
std::string field(int number, int value) {
  return {char(number << 3), char(value)};
}
std::string field(int number, const std::string &bytes) {
  std::string tag = number < 16 ? std::string{char(number << 3 | 2)}
                                : std::string{char((number << 3 | 2) | 0x80),
                                              char(number >> 4)};
  std::string length =
      bytes.size() < 128
          ? std::string{char(bytes.size())}
          : std::string{char(bytes.size() | 0x80), char(bytes.size() >> 7)};
  return tag + length + bytes;
}

/// Each part of a small model, so that tests can change one.
struct Model {
  std::string op = "Relu", attribute = "axis", node_name = "n", comment = "c";
  int attribute_value = 1, opset = 17, then_value = 3;
  std::string weight = "abcd", constant = "efgh", listed = "ijkl";
  std::string shape = field(1, "x"), external = "0";
  std::string call = "embedding(padding_idx = 1)", line = "line 7";

  std::string bytes() const {
    std::string then =
        field(1, field(4, "If") + field(5, field(3, then_value)));
    std::string node =
        field(1, "x") + field(2, "y") + field(3, node_name) + field(4, op) +
        field(5, field(1, attribute) + field(3, attribute_value) +
                     field(13, comment)) +
        field(5, field(6, then)) + field(6, comment) +
        field(9, field(1, "pkg.torch.onnx.fx_node") + field(2, call)) +
        field(9, field(1, "pkg.torch.onnx.stack_trace") + field(2, line));
    auto tensor = [&](const std::string &name, const std::string &values) {
      return field(5, field(1, 1) + field(2, 1) + field(8, name) + values);
    };
    std::string graph =
        field(1, node) + tensor("w", field(9, weight)) +
        tensor("c", field(9, constant)) +
        field(5, field(1, 1) + field(4, listed) + field(8, "w")) +
        tensor("w", field(13, field(1, "offset") + field(2, external))) +
        field(11, shape + field(3, comment));
    return field(7, graph) + field(8, field(2, opset));
  }
};

class GraphHashTest : public zerograph::testing::FolderCase {
protected:
  GraphHashTest() {
    plan.add_units()->add_parameters()->set_name("w");
    own = hashOf(Model());
  }

  absl::StatusOr<uint64_t> hashOf(const std::string &bytes) {
    std::ofstream(path("model.onnx"), std::ios::binary) << bytes;
    return graphHash(path("model.onnx"), plan);
  }
  uint64_t hashOf(const Model &model) { return hashOf(model.bytes()).value(); }

  plan::Plan plan;
  uint64_t own; ///< of `Model()`
};

TEST_F(GraphHashTest, OfWhatThePlanHasIsAnotherWhenItChanges) {
  EXPECT_NE(own, hashOf(Model{.op = "Tanh"}));
  EXPECT_NE(own, hashOf(Model{.attribute = "bias"}));
  EXPECT_NE(own, hashOf(Model{.attribute_value = 2}));
  EXPECT_NE(own, hashOf(Model{.opset = 18}));
  EXPECT_NE(own, hashOf(Model{.then_value = 4}));
  EXPECT_NE(own, hashOf(Model{.constant = "efgH"}));
  EXPECT_NE(own, hashOf(Model{.listed = "ijkL"})); // copied beside the plan
  EXPECT_NE(own, hashOf(Model{.shape = field(1, "z")}));
  EXPECT_NE(own, hashOf(Model{.external = "8"}));
  EXPECT_NE(own, hashOf(Model{.call = "embedding(padding_idx = 2)"}));
}

TEST_F(GraphHashTest, OfOtherWeightsAndCommentsIsTheSame) {
  EXPECT_EQ(own, hashOf(Model{.weight = "abcD"}));
  EXPECT_EQ(own, hashOf(Model{.node_name = "m", .comment = "d"}));
  EXPECT_EQ(own, hashOf(Model{.line = "line 10"}));
}

TEST_F(GraphHashTest, ATruncatedFileIsAnErrorOrHasAnother) {
  std::string whole = Model().bytes();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    absl::StatusOr<uint64_t> hash = hashOf(whole.substr(0, bytes));
    EXPECT_TRUE(!hash.ok() || *hash != own) << bytes;
  }
}

TEST_F(GraphHashTest, AMissingFileIsAnErrorThatNamesIt) {
  expectSays(graphHash("/nonexistent.onnx", plan).status(),
             "/nonexistent.onnx");
}

} // namespace
