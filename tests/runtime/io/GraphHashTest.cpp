//===- GraphHashTest.cpp --------------------------------------------------===//

#include "runtime/io/GraphHash.h"

#include "gtest/gtest.h"

#include <fstream>
#include <iterator>
#include <string>

using namespace zerograph;

namespace {

class GraphHashTest : public ::testing::Test {
protected:
  GraphHashTest() {
    std::ifstream stream(ZEROGRAPH_MODELS "/mlp-digits/model.onnx",
                         std::ios::binary);
    model.assign(std::istreambuf_iterator<char>(stream), {});
  }

  absl::StatusOr<uint64_t> hashOf(const std::string &bytes) {
    std::string path = ::testing::TempDir() + "/graph_hash_test.onnx";
    std::ofstream(path, std::ios::binary) << bytes;
    return graphHash(path);
  }

  /// Writes `text` over the first place that has `old`, of the same length.
  std::string with(const std::string &old, const std::string &text) {
    std::string changed = model;
    size_t at = changed.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    EXPECT_EQ(old.size(), text.size());
    return changed.replace(at, text.size(), text);
  }

  std::string model;
};

TEST_F(GraphHashTest, OfAnotherOperatorIsAnother) {
  EXPECT_NE(*hashOf(model), *hashOf(with("Relu", "Tanh")));
}

TEST_F(GraphHashTest, OfOtherWeightsIsTheSame) {
  std::string trained = model;
  trained[trained.size() / 2] ^= 1; // amid the first layer's weights
  EXPECT_EQ(*hashOf(model), *hashOf(trained));
}

TEST_F(GraphHashTest, OfOtherSourceLinesIsTheSame) {
  EXPECT_EQ(*hashOf(model), *hashOf(with("fixture_models", "Fixture_models")));
}

TEST_F(GraphHashTest, ATruncatedFileIsAnErrorOrHasAnother) {
  uint64_t whole = *hashOf(model);
  for (size_t bytes = 0; bytes < model.size(); bytes += 101) {
    absl::StatusOr<uint64_t> hash = hashOf(model.substr(0, bytes));
    EXPECT_TRUE(!hash.ok() || *hash != whole) << bytes;
  }
}

TEST_F(GraphHashTest, AMissingFileIsAnErrorThatNamesIt) {
  EXPECT_NE(graphHash("/nonexistent.onnx").status().message().find(
                "/nonexistent.onnx"),
            std::string::npos);
}

} // namespace
