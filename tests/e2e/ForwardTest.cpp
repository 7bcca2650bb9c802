//===- ForwardTest.cpp - what `run` writes --------------------------------===//

#include "runtime/io/SafetensorsWriter.h"
#include "tests/e2e/ForwardRun.h"
#include "tests/frontend/Fixture.h"
#include "tests/support/Says.h"

#include <filesystem>

namespace zerograph {
namespace {

namespace fs = std::filesystem;

constexpr const char *kModel = R"(
g (float[batch, 3] x) => (float[batch, 3] y, float m)
<float[3] w = {1, 10, 100}>
{
  y = Mul (x, w)
  m = ReduceSum <keepdims = 0> (y)
}
)";

class ForwardTest : public ::testing::Test {
protected:
  std::string path(const std::string &name) const { return files.path(name); }
  const std::vector<std::string> &notes() const { return files.notes; }

  /// x[i, j] = i + j / 8, of `samples` rows.
  void writeData(uint64_t samples) const {
    std::vector<float> values;
    for (uint64_t i = 0; i < samples; ++i) {
      for (uint64_t j = 0; j < 3; ++j) {
        values.push_back(float(i) + float(j) / 8);
      }
    }
    auto writer = SafetensorsWriter::create(path("data"),
                                            {{"x", plan::F32, {samples, 3}}})
                      .value();
    ASSERT_TRUE(writer->write("x", 0, values.size() * 4, values.data()).ok());
    ASSERT_TRUE(writer->commit().ok());
  }

  absl::StatusOr<ForwardResult> run(const std::string &text, int64_t batch) {
    ZG_ASSIGN_OR_RETURN(
        LoadedPlan plan,
        files.compile(frontend::testing::parse(text), {{"batch", batch}}));
    return files.run(plan);
  }

  std::vector<float> output(const std::string &name,
                            const std::vector<uint64_t> &shape) const {
    absl::StatusOr<TensorFile> found = readTensors(path("out"));
    EXPECT_TRUE(found.ok()) << found.status();
    const TensorExtent &extent = found->at(name);
    EXPECT_EQ(extent.shape, shape);
    std::vector<float> values(extent.bytes / 4);
    EXPECT_TRUE(
        extent.file->read(extent.offset, extent.bytes, values.data()).ok());
    return values;
  }

  zerograph::testing::ForwardRun files;
};

TEST_F(ForwardTest, OutputsThatAreNoRowsComeOnceARun) {
  writeData(7);
  auto result = run(kModel, 3).value();
  EXPECT_EQ(result.runs, 2u);
  EXPECT_EQ(result.samples, 6u);
  EXPECT_EQ(notes(), (std::vector<std::string>{
                         path("data") + ": the last 1 samples are not used: a "
                                        "micro-batch has 3"}));
  std::vector<float> y = output("y", {6, 3});
  std::vector<float> m = output("m", {2});
  for (uint64_t r = 0; r < 2; ++r) {
    float sum = 0;
    for (uint64_t i = 3 * r; i < 3 * r + 3; ++i) {
      const float expected[] = {float(i), (float(i) + 0.125f) * 10,
                                (float(i) + 0.25f) * 100};
      for (int j = 0; j < 3; ++j) {
        EXPECT_EQ(y[3 * i + j], expected[j]);
        sum += expected[j];
      }
    }
    EXPECT_FLOAT_EQ(m[r], sum);
  }
}

TEST_F(ForwardTest, RowsComeForEverySample) {
  std::string rows = kModel;
  rows.replace(rows.find(", float m)"), 10, ")");
  rows.replace(rows.find("  m = ReduceSum <keepdims = 0> (y)\n"), 35, "");
  writeData(7);
  auto result = run(rows, 3).value();
  EXPECT_EQ(result.runs, 3u);
  EXPECT_EQ(result.samples, 7u);
  EXPECT_TRUE(notes().empty());
  std::vector<float> y = output("y", {7, 3});
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(y[3 * i], float(i));
    EXPECT_EQ(y[3 * i + 2], (float(i) + 0.25f) * 100);
  }
}

/// An output that is an input, a weight, a constant or twice the same value has
/// bytes of its own.
TEST_F(ForwardTest, WhatNoNodeComputesIsCopied) {
  writeData(2);
  auto result = run(R"(
g (float[batch, 3] x) => (float[batch, 3] a, float[batch, 3] b,
                              float[3] c, float[3] d, float[batch, 3] e)
<float[3] w = {1, 10, 100}, float[3] c = {4, 5, 6}>
{
  a = Identity (x)
  b = Mul (x, w)
  d = Identity (w)
  e = Identity (b)
}
)",
                    2);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(output("a", {2, 3}),
            (std::vector<float>{0, 0.125, 0.25, 1, 1.125, 1.25}));
  EXPECT_EQ(output("c", {3}), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(output("d", {3}), (std::vector<float>{1, 10, 100}));
  EXPECT_EQ(output("b", {2, 3}), output("e", {2, 3}));
}

TEST_F(ForwardTest, NothingIsWrittenWhereDataDoesNotFit) {
  writeData(2);
  auto result = run(kModel, 3);
  expectSays(result.status(), "holds 2 samples");
  EXPECT_FALSE(fs::exists(path("out")));
}

} // namespace
} // namespace zerograph
