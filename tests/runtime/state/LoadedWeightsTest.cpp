//===- LoadedWeightsTest.cpp - weights under PyTorch's names --------------===//

#include "runtime/state/LoadedWeights.h"
#include "runtime/io/SafetensorsWriter.h"
#include "runtime/state/Initialize.h"
#include "runtime/state/Transpose.h"
#include "tests/runtime/checkpoint/StatePlan.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"

#include <fstream>

using namespace zerograph;
using namespace zerograph::testing;
using ::testing::ElementsAre;

namespace {

constexpr uint64_t kRows = 20, kColumns = 45;

class LoadedWeightsTest : public FolderCase {
protected:
  struct Array {
    std::string name;
    std::vector<uint64_t> shape;
    std::vector<float> values;
  };

  static Array array(const std::string &name, std::vector<uint64_t> shape) {
    uint64_t count = 0;
    byteCount(shape, 1, count);
    Array made = {name, std::move(shape), std::vector<float>(count)};
    for (uint64_t i = 0; i < count; ++i) {
      made.values[i] = float(count) + float(i) / 1024;
    }
    return made;
  }

  static Array turned(const Array &matrix, const std::string &name) {
    Array made = {name, {matrix.shape[1], matrix.shape[0]}, matrix.values};
    transposeMatrix(reinterpret_cast<const std::byte *>(matrix.values.data()),
                    matrix.shape[0], matrix.shape[1], 4,
                    reinterpret_cast<std::byte *>(made.values.data()));
    return made;
  }

  std::string write(const std::string &name, const std::vector<Array> &arrays) {
    std::vector<SafetensorsWriter::Entry> entries;
    for (const Array &one : arrays) {
      entries.push_back({one.name, plan::F32, one.shape});
    }
    auto writer = SafetensorsWriter::create(path(name), entries);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (const Array &one : arrays) {
      EXPECT_TRUE(
          (*writer)
              ->write(one.name, 0, one.values.size() * 4, one.values.data())
              .ok());
    }
    EXPECT_TRUE((*writer)->commit().ok());
    return path(name);
  }

  std::string writeMap(const std::string &text) {
    std::ofstream(path("names.json")) << text;
    return path("names.json");
  }

  /// Makes a plan of a matrix "w", all trained.
  static plan::Plan planFor(const StatePlanOptions &options) {
    plan::Plan plan = statePlan(options);
    for (plan::Unit &unit : *plan.mutable_units()) {
      for (plan::Parameter &parameter : *unit.mutable_parameters()) {
        parameter.set_trainable(true);
      }
      unit.set_trainable(true);
    }
    plan::Parameter &w = *plan.mutable_units(0)->mutable_parameters(0);
    w.clear_shape();
    w.add_shape(kRows);
    w.add_shape(kColumns);
    return plan;
  }

  /// The memory of each rank; that of before holds rubbish.
  static std::vector<std::vector<std::byte>> begin(const plan::Plan &plan,
                                                   const std::string &weights,
                                                   const std::string &map) {
    InitializeOptions options;
    options.load_weights = weights;
    options.names = map;
    auto sources = ParameterSources::open(plan, options);
    EXPECT_TRUE(sources.ok()) << sources.status();
    std::vector<std::vector<std::byte>> ranks;
    for (unsigned rank = 0; sources.ok() && rank < worldOf(plan); ++rank) {
      HeldStates states(plan, rank);
      absl::Status status = (*sources)->initialize(states.memory);
      EXPECT_TRUE(status.ok()) << status;
      ranks.push_back(states.bytes);
    }
    return ranks;
  }

  std::string refusal(const std::string &weights, const std::string &map) {
    InitializeOptions options;
    options.load_weights = weights;
    options.names = map;
    options.init_missing = 1;
    plan::Plan plan = planFor({});
    auto sources = ParameterSources::open(plan, options);
    return sources.ok() ? "" : std::string(sources.status().message());
  }

  const Array w = array("w", {kRows, kColumns});
  const Array b = array("b", {300});
  const Array mean = array("mean", {16});
};

/// Every element of every state, whole and sharded, with masters and without.
TEST_F(LoadedWeightsTest, EachRankBeginsAsByItsOwnNames) {
  std::string own = write("own", {w, b, mean});
  Array renamed = b;
  renamed.name = "w"; // as another's is called in the model
  std::string theirs = write("theirs", {turned(w, "fc.weight"), renamed, mean});
  std::string map =
      writeMap(R"({"w": {"name": "fc.weight", "transposed": true}, "b": "w"})");
  for (plan::ElementType type : {plan::F32, plan::BF16}) {
    for (unsigned world : {1u, 2u, 3u}) {
      for (bool sharded : {false, true}) {
        plan::Plan plan = planFor({world, sharded, type});
        EXPECT_EQ(begin(plan, theirs, map), begin(plan, own, ""))
            << world << (sharded ? " sharded " : " ") << type;
      }
    }
  }
}

TEST_F(LoadedWeightsTest, TensorsAreOfTheInitializersThatTheMapSays) {
  auto loaded =
      loadWeights(write("f", {turned(w, "x"), b, mean, array("w", {2})}),
                  writeMap(R"({"w": {"name": "x", "transposed": true}})"))
          .value();
  ASSERT_EQ(loaded.weights.size(), 3u);
  EXPECT_THAT(loaded.hidden, ElementsAre("w"));
  EXPECT_EQ(loaded.find("w")->shape, w.shape);
  EXPECT_EQ(loaded.find("x"), nullptr);
  std::vector<float> values(7);
  ASSERT_TRUE(loaded.find("w")
                  ->read(50, 7, reinterpret_cast<std::byte *>(values.data()))
                  .ok());
  EXPECT_TRUE(std::equal(values.begin(), values.end(), w.values.begin() + 50));
}

TEST_F(LoadedWeightsTest, RefusalsNameTheTensor) {
  std::string file = write("f", {turned(w, "x"), b, mean});
  expectSays(refusal(file, writeMap(R"({"w": "y", "b": "z"})")),
             "f lacks 2 of the 2 tensors that",
             "'z' (of the model 'b'), 'y' (of the model 'w')",
             "It holds 'b', 'mean', 'x'", "take out of it");
  expectSays(refusal(file, writeMap(R"({"w": "x"})")),
             "'x' (of the model 'w') is F32 [45, 20], "
             "expected F32 [20, 45]",
             "names.json says that it is transposed");
  expectSays(refusal(write("g", {array("x", {9, 3})}),
                     writeMap(R"({"w": {"name": "x", "transposed": true}})")),
             "'x' (of the model 'w') is F32 [9, 3], expected F32 [45, 20], "
             "the transpose of the model's [20, 45]; correct");
  expectSays(refusal(write("h", {array("x", {20, 45})}),
                     writeMap(R"({"w": {"name": "x", "transposed": true}})")),
             "does not say that it is transposed");
  expectSays(
      refusal(file, writeMap(R"({"b": {"name": "b", "transposed": true}})")),
      "'b' is transposed, which only a matrix can be: its "
      "shape is [300]");
  expectSays(
      refusal(file, writeMap(R"({"b": {"name": "x", "transposed": true}})")),
      "'x' is transposed, which only a matrix can be: its shape is "
      "[300]");
  expectSays(refusal(write("i", {turned(w, "w")}), ""),
             "it is the transpose if --names MAP.json says so");
}

/// To go on would train what the model has, though the file has values.
TEST_F(LoadedWeightsTest, ANameThatTheModelLacksIsAnErrorWhereOneHasNoValues) {
  std::string file = write("f", {turned(w, "x"), b, mean});
  for (const char *map : {R"({"v": {"name": "x", "transposed": true}})",
                          R"({"w": {"name": "x", "transposed": true},
                              "v": "b"})"}) {
    expectSays(refusal(file, writeMap(map)),
               "names.json seems to have another name", "is not in it, 'v' is",
               "correct");
  }
  expectSays(refusal(write("g", {array("x", {3})}), writeMap(R"({"v": "x"})")),
             "holds none of the model's 3 parameters", "it holds v");
}

/// A constant of the model has a name in the map too.
TEST_F(LoadedWeightsTest, ANameThatThePlanDoesNotKnowIsANote) {
  InitializeOptions options;
  options.load_weights =
      write("f", {turned(w, "x"), b, mean, array("y", {2}), array("w", {3})});
  options.names =
      writeMap(R"({"w": {"name": "x", "transposed": true}, "constant": "y"})");
  plan::Plan plan = planFor({});
  auto sources = ParameterSources::open(plan, options).value();
  ASSERT_EQ(sources->notes().size(), 1u);
  expectSays(sources->notes()[0],
             "not read, as the plan has no such parameter: w, "
             "y (constant in ",
             "names.json) (one that");
}

/// By the model's element, wherever it lies in the file.
TEST_F(LoadedWeightsTest, ANaNIsNamed) {
  Array bad = w;
  bad.values[5 * kColumns + 7] = std::nanf("");
  InitializeOptions options;
  options.load_weights = write("f", {turned(bad, "x"), b, mean});
  options.names = writeMap(R"({"w": {"name": "x", "transposed": true}})");
  plan::Plan plan = planFor({});
  auto sources = ParameterSources::open(plan, options).value();
  HeldStates states(plan, 0);
  expectSays(sources->initialize(states.memory),
             "parameter 'w' begins with NaN in element 232 of 900");
}

} // namespace
