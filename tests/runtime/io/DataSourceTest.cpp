//===- DataSourceTest.cpp - slices of samples -----------------------------===//

#include "runtime/io/DataSource.h"
#include "runtime/io/SafetensorsWriter.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <unistd.h>

using namespace zerograph;

namespace {

class DataSourceTest : public ::testing::Test {
protected:
  void SetUp() override {
    path = std::filesystem::path(::testing::TempDir()) /
           ("data" + std::to_string(getpid()));
    plan.add_mesh()->set_size(2);
    plan.set_micro_batch(3);
    plan.set_accumulate(2);
    addInput("ids", plan::I64, {3, 2}, true);
    addInput("mask", plan::F32, {4}, false);
    plan.mutable_inputs(0)->set_min(0);
    plan.mutable_inputs(0)->set_max(999);
  }
  void TearDown() override { std::filesystem::remove(path); }

  void addInput(const std::string &name, plan::ElementType type,
                std::vector<uint64_t> shape, bool per_sample) {
    plan::Input &input = *plan.add_inputs();
    input.set_name(name);
    input.set_type(type);
    for (uint64_t size : shape) {
      input.add_shape(size);
    }
    input.set_per_sample(per_sample);
  }

  void write(uint64_t samples) {
    auto writer =
        SafetensorsWriter::create(path, {{"ids", plan::I64, {samples, 2}},
                                         {"mask", plan::F32, {4}},
                                         {"more", plan::U8, {1}}})
            .value();
    std::vector<int64_t> ids;
    for (uint64_t i = 0; i < samples * 2; ++i) {
      ids.push_back(int64_t(i * 10));
    }
    std::vector<float> mask = {1, 2, 3, 4};
    ASSERT_TRUE(writer->write("ids", 0, samples * 16, ids.data()).ok());
    ASSERT_TRUE(writer->write("mask", 0, 16, mask.data()).ok());
    ASSERT_TRUE(writer->commit().ok());
  }

  std::string error() {
    auto source = DataSource::open({path}, plan);
    return source.ok() ? "fine" : std::string(source.status().message());
  }

  std::string path;
  plan::Plan plan;
};

TEST_F(DataSourceTest, MicroBatchesAreConsecutiveAndStepsWhole) {
  write(30); // a step takes 12: two whole steps
  auto source = DataSource::open({path}, plan).value();
  EXPECT_EQ(source->samplesOfStep(), 12u);
  EXPECT_EQ(source->samples(), 30u);
  EXPECT_EQ(source->steps(), 2u);
  EXPECT_EQ(source->rest(), 6u);
  EXPECT_EQ(source->superfluous(), std::vector<std::string>{"more"});
  for (uint64_t first : {0, 3, 21, 24, 27}) {
    std::vector<int64_t> ids(6);
    ASSERT_TRUE(source->read(0, first, ids.data()).ok());
    for (uint64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(ids[i], int64_t((first * 2 + i) * 10));
    }
    std::vector<float> mask(4);
    ASSERT_TRUE(source->read(1, first, mask.data()).ok());
    EXPECT_EQ(mask, (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST_F(DataSourceTest, ABadValueIsNamedWithItsSample) {
  write(60);
  auto source = DataSource::open({path}, plan).value();
  std::vector<int64_t> ids(6);
  EXPECT_TRUE(source->read(0, 45, ids.data()).ok());
  absl::Status status = source->read(0, 48, ids.data());
  expectSays(status,
             "'ids' has the value 1000 in sample 50, expected 0 to 999");
}

// All at once, and as many as are asked for.
TEST_F(DataSourceTest, AllSamplesCanBeCheckedBefore) {
  write(60);
  auto source = DataSource::open({path}, plan).value();
  auto same = [](uint64_t place) { return place; };
  EXPECT_TRUE(source->check(0, 50, same).ok());
  EXPECT_TRUE(source->check(50, 50, same).ok());
  // Samples that the order has there.
  auto back = [](uint64_t place) { return 59 - place; };
  EXPECT_TRUE(source->check(10, 60, back).ok());
  EXPECT_FALSE(source->check(9, 60, back).ok());
  for (uint64_t begin : {0, 49, 50}) {
    expectSays(source->check(begin, 60, same), "the value 1000 in sample 50, ");
  }
}

// A label that a loss ignores lies apart from the classes: what is between
// them is as wrong as anything else.
TEST_F(DataSourceTest, AnIgnoredValueIsLegalAndItsNeighboursAreNot) {
  write(60);
  plan.mutable_inputs(0)->set_max(970);
  plan.mutable_inputs(0)->add_ignored(990);
  auto source = DataSource::open({path}, plan);
  ASSERT_TRUE(source.ok()) << source.status();
  std::vector<int64_t> ids(6);
  absl::Status status = (*source)->read(0, 48, ids.data());
  expectSays(status, "'ids' has the value 980 in sample 49, "
                     "expected 0 to 970 or 990");
  plan.mutable_inputs(0)->add_ignored(980);
  source = DataSource::open({path}, plan);
  ASSERT_TRUE(source.ok()) << source.status();
  status = (*source)->read(0, 48, ids.data());
  expectSays(status, "'ids' has the value 1000 in sample 50, "
                     "expected 0 to 970 or 990 or 980");
}

TEST_F(DataSourceTest, EveryMismatchIsSaidAtOnce) {
  write(30);
  EXPECT_EQ(error(), "fine");
  plan.mutable_inputs(0)->set_type(plan::F32);
  plan.mutable_inputs(1)->set_shape(0, 5);
  addInput("weight", plan::F32, {3}, true);
  std::string message = error();
  expectSays(message, "input 'ids' is I64 [30, 2], expected F32 [samples, 2]",
             "input 'mask' is F32 [4], expected F32 [5]",
             "input 'weight' is missing, expected F32 [samples]",
             "it also has more");
}

/// A model may want [samples * 2] where the others have [samples, 2].
TEST_F(DataSourceTest, FlattenedInputsHaveSeveralRowsASample) {
  write(24);
  plan.mutable_inputs(0)->set_shape(0, 1); // no multiple of the micro-batch
  expectSays(error(), "input 'ids' has 24 rows");
  plan.mutable_inputs(0)->set_shape(0, 6);
  plan.set_accumulate(1);
  auto source = DataSource::open({path}, plan).value();
  EXPECT_EQ(source->samples(), 12u);
  EXPECT_EQ(source->steps(), 2u);
  std::vector<int64_t> ids(12);
  ASSERT_TRUE(source->read(0, 3, ids.data()).ok());
  EXPECT_EQ(ids[0], 6 * 2 * 10);
  EXPECT_EQ(ids[11], (6 * 2 + 11) * 10);
}

/// Whichever it is of several inputs.
TEST_F(DataSourceTest, AnInputWithoutSamplesIsNamed) {
  addInput("weight", plan::F32, {3}, true);
  for (auto [ids, weights, name] :
       {std::tuple(0, 12, "'ids'"), std::tuple(12, 0, "'weight'"),
        std::tuple(0, 0, "'weight'")}) {
    auto writer = SafetensorsWriter::create(
                      path, {{"ids", plan::I64, {uint64_t(ids), 2}},
                             {"mask", plan::F32, {4}},
                             {"weight", plan::F32, {uint64_t(weights)}}})
                      .value();
    std::vector<int64_t> zeros(24);
    ASSERT_TRUE(writer->write("ids", 0, uint64_t(ids) * 16, zeros.data()).ok());
    ASSERT_TRUE(writer->write("mask", 0, 16, zeros.data()).ok());
    ASSERT_TRUE(
        writer->write("weight", 0, uint64_t(weights) * 4, zeros.data()).ok());
    ASSERT_TRUE(writer->commit().ok());
    expectSays(error(), std::string("input ") + name + " has no samples");
  }
}

TEST_F(DataSourceTest, LessThanOneStepIsAnError) {
  write(11);
  expectSays(error(), "holds 11 samples; a step takes 12 (2 ranks x 2 "
                      "micro-batches x 3 samples)");
}

} // namespace
