//===- ShardTest.cpp - samples in several files ---------------------------===//

#include "runtime/io/DataSource.h"
#include "runtime/io/SafetensorsWriter.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace zerograph;

namespace {

class ShardTest : public zerograph::testing::FolderCase {
protected:
  void SetUp() override {
    plan.add_mesh()->set_size(1);
    plan.set_micro_batch(4);
    plan.set_accumulate(1);
    addInput("ids", plan::I64, {4}, true);
    addInput("mask", plan::F32, {1}, false);
    plan.mutable_inputs(0)->set_min(0);
    plan.mutable_inputs(0)->set_max(99);
  }

  void addInput(const std::string &name, plan::ElementType type,
                std::vector<uint64_t> shape, bool per_sample) {
    plan::Input &input = *plan.add_inputs();
    input.set_name(name);
    input.set_type(type);
    input.mutable_shape()->Assign(shape.begin(), shape.end());
    input.set_per_sample(per_sample);
  }

  std::string write(const std::string &name, std::vector<int64_t> ids,
                    float mask = 1) {
    auto writer =
        SafetensorsWriter::create(path(name), {{"ids", plan::I64, {ids.size()}},
                                               {"mask", plan::F32, {1}}});
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE((*writer)->write("ids", 0, ids.size() * 8, ids.data()).ok());
    EXPECT_TRUE((*writer)->write("mask", 0, 4, &mask).ok());
    EXPECT_TRUE((*writer)->commit().ok());
    return path(name);
  }

  std::string error(const std::vector<std::string> &paths) {
    auto source = DataSource::open(paths, plan);
    return source.ok() ? "fine" : std::string(source.status().message());
  }

  plan::Plan plan;
};

/// A micro-batch may have samples of several files, of some only one.
TEST_F(ShardTest, SamplesAreCountedThroughTheFiles) {
  auto source = DataSource::open({write("z", {0, 1, 2}), write("a", {3}),
                                  write("m", {4, 5, 6, 7, 8})},
                                 plan)
                    .value();
  EXPECT_EQ(source->samples(), 9u);
  EXPECT_EQ(source->steps(), 2u);
  EXPECT_EQ(source->rest(), 1u);
  EXPECT_EQ(source->name(), path("z") + " and 2 more");
  std::vector<int64_t> ids(4);
  for (int64_t first = 0; first <= 5; ++first) {
    ASSERT_TRUE(source->read(0, uint64_t(first), ids.data()).ok());
    EXPECT_EQ(ids,
              (std::vector<int64_t>{first, first + 1, first + 2, first + 3}));
  }
  float mask = 0;
  ASSERT_TRUE(source->read(1, 5, &mask).ok());
  EXPECT_EQ(mask, 1);
}

/// Any order: apart, backwards, the same again, and neighbours.
TEST_F(ShardTest, SamplesAreReadInAnyOrder) {
  auto source =
      DataSource::open({write("a", {0, 1, 2}), write("b", {3, 4, 5})}, plan)
          .value();
  for (std::vector<int64_t> order :
       std::vector<std::vector<int64_t>>{{5, 0, 3, 1},
                                         {5, 4, 3, 2},
                                         {1, 2, 3, 4},
                                         {2, 2, 3, 3},
                                         {0, 5, 0, 1}}) {
    std::vector<int64_t> ids(4);
    ASSERT_TRUE(source
                    ->read(
                        0,
                        [&](uint64_t place) { return uint64_t(order[place]); },
                        ids.data())
                    .ok());
    EXPECT_EQ(ids, order);
  }
}

TEST_F(ShardTest, AFolderIsItsFilesByName) {
  write("b.safetensors", {4, 5});
  write("a.safetensors", {0, 1, 2, 3});
  write("no shard", {7});
  std::ofstream(path("README.md")) << "nothing";
  auto source = DataSource::open({folder, path("no shard")}, plan).value();
  ASSERT_EQ(source->samples(), 7u);
  std::vector<int64_t> ids(4);
  ASSERT_TRUE(source->read(0, 3, ids.data()).ok());
  EXPECT_EQ(ids, (std::vector<int64_t>{3, 4, 5, 7}));

  std::ofstream(path("ids.npy")) << "nothing";
  EXPECT_EQ(error({folder}), folder.string() +
                                 ": holds .npy and .safetensors files; give a "
                                 "folder that holds one kind");
}

/// The value's place in its own file: so one finds it.
TEST_F(ShardTest, ErrorsNameFileAndArray) {
  std::string good = write("good", {0, 1, 2});
  auto source = DataSource::open({good, write("bad", {3, 100})}, plan).value();
  std::vector<int64_t> ids(4);
  EXPECT_TRUE(source->read(0, 0, ids.data()).ok());
  absl::Status status = source->read(0, 1, ids.data());
  EXPECT_EQ(status.message(),
            path("bad") + ": input 'ids' has the value 100 in sample 1, "
                          "expected 0 to 99");

  auto writer =
      SafetensorsWriter::create(path("other"), {{"ids", plan::I32, {4}}})
          .value();
  int32_t values[4] = {};
  ASSERT_TRUE(writer->write("ids", 0, 16, values).ok());
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(
      error({good, path("other")}),
      path("other") +
          ": input 'ids' is I32 [4], expected I64 [samples]; "
          "no type is converted here: array.astype() or tensor.to() does; "
          "input 'mask' is missing, expected F32 [1]; it has "
          "no other arrays");

  auto oneHot =
      SafetensorsWriter::create(
          path("hot"), {{"ids", plan::F32, {4, 3}}, {"mask", plan::F32, {1}}})
          .value();
  float scores[12] = {};
  ASSERT_TRUE(oneHot->write("ids", 0, 48, scores).ok());
  ASSERT_TRUE(oneHot->write("mask", 0, 4, scores).ok());
  ASSERT_TRUE(oneHot->commit().ok());
  expectSays(error({path("hot")}),
             "input 'ids' is F32 [4, 3], expected I64 [samples]; if these are "
             "one-hot labels, give the numbers of their classes: "
             "numpy.argmax(labels, axis=1)");

  EXPECT_EQ(error({good, write("mask", {3}, 2)}),
            path("mask") + ": input 'mask' has other values than in " + good +
                "; one without samples must be the same in every file");
  expectSays(error({good, path("none")}), "none: cannot open");
}

} // namespace
