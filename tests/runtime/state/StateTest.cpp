//===- StateTest.cpp - first values and files of parameters ---------------===//

#include "runtime/device/host/HostBuffer.h"
#include "runtime/plan/Describe.h"
#include "runtime/state/Convert.h"
#include "runtime/state/Initialize.h"
#include "runtime/state/InitializedWeights.h"
#include "runtime/state/WeightFile.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace zerograph;

namespace {

TEST(InitMissingTest, TheOptionIsReadStrictly) {
  EXPECT_EQ(*parseInitMissing("normal:0.02"), 0.02);
  for (const char *bad : {"normal", "normal:", "normal:x", "normal:-1",
                          "normal:inf", "uniform:1", "normal:0.02x"}) {
    EXPECT_FALSE(parseInitMissing(bad).ok()) << bad;
  }
}

/// Two units of two segments on any number of ranks, sharded or whole.
class StateTest : public zerograph::testing::FolderCase {
protected:
  void SetUp() override {
    std::ofstream model(folder / "model.onnx", std::ios::binary);
    std::vector<float> values(3 + 900);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = float(i);
    }
    model.write(reinterpret_cast<char *>(values.data()),
                std::streamsize(values.size() * 4));
  }

  /// Parameter "held" comes from a file, "normal", "ones" and "zeros" do not.
  plan::Plan planFor(unsigned world, bool sharded,
                     plan::ElementType type = plan::F32) {
    plan::Plan plan;
    plan.add_mesh()->set_size(world);
    uint64_t offset = 0;
    plan.add_arenas();
    plan::Unit &unit = *plan.add_units();
    unit.set_name("unit");
    unit.set_type(type);
    unit.set_trainable(true);
    unit.set_elements(6144);
    struct {
      const char *name;
      uint64_t offset, elements;
      plan::Init init;
    } parameters[] = {{"held", 0, 900, plan::NORMAL},
                      {"normal", 1024, 4000, plan::NORMAL},
                      {"ones", 5120, 300, plan::ONES},
                      {"zeros", 5632, 512, plan::ZEROS}};
    for (const auto &one : parameters) {
      plan::Parameter &parameter = *unit.add_parameters();
      parameter.set_name(one.name);
      parameter.set_offset(one.offset);
      parameter.set_elements(one.elements);
      parameter.add_shape(one.elements);
      parameter.set_init(one.init);
      parameter.set_trainable(true);
    }
    plan::Source &source = *unit.mutable_parameters(0)->mutable_source();
    source.set_file("model.onnx");
    source.set_folder(folder);
    source.set_offset(12);
    source.set_length(3600);
    for (const char *role : {"param", "exp_avg"}) {
      for (int i = 0; i < 2; ++i) {
        if (unit.segments_size() < 2) {
          plan::Segment &segment = *unit.add_segments();
          segment.set_offset(uint64_t(i) * 3072);
          segment.set_elements(3072);
        }
        plan::State &state = *unit.add_states();
        state.set_role(role);
        state.set_segment(i);
        state.set_type(type);
        if (sharded) {
          state.add_axes(0);
        }
        state.set_slice(uint32_t(plan.slices_size()));
        plan::Slice &slice = *plan.add_slices();
        slice.set_offset(offset);
        slice.set_bytes(3072 * elementSize(type) / (sharded ? world : 1));
        slice.set_carried(true);
        offset += slice.bytes();
      }
    }
    plan.mutable_arenas(0)->set_bytes(offset);
    return plan;
  }

  /// Every rank's memory after initialization, begun full of rubbish.
  std::vector<std::vector<float>> initialize(const plan::Plan &plan,
                                             const InitializeOptions &options) {
    auto sources = ParameterSources::open(plan, options);
    EXPECT_TRUE(sources.ok()) << sources.status();
    std::vector<std::vector<float>> ranks;
    for (unsigned rank = 0; sources.ok() && rank < worldOf(plan); ++rank) {
      auto &memory = ranks.emplace_back(plan.arenas(0).bytes() / 4, NAN);
      HostBuffer buffer(memory.data(), memory.size() * 4);
      EXPECT_TRUE((*sources)->initialize({rank, {&buffer}}).ok());
    }
    return ranks;
  }

  /// The flat "param" buffer put together from shards.
  std::vector<float> flat(const plan::Plan &plan, bool sharded,
                          std::vector<std::vector<float>> &ranks) {
    std::vector<float> all(6144, NAN);
    for (unsigned rank = 0; rank < worldOf(plan); ++rank) {
      HostBuffer buffer(ranks[rank].data(), ranks[rank].size() * 4);
      RankMemory view = {rank, {&buffer}};
      for (const plan::State &state : plan.units(0).states()) {
        for (const HeldRange &range :
             heldRanges(plan, plan.units(0), state, view)) {
          std::vector<float> values(range.end - range.begin);
          EXPECT_EQ(range.bytes.bytes, values.size() * 4);
          EXPECT_TRUE(range.bytes.read(values.data()).ok());
          if (state.role() == "param") {
            std::copy(values.begin(), values.end(),
                      all.begin() + int64_t(range.begin));
          } else {
            EXPECT_EQ(values, std::vector<float>(values.size()));
          }
        }
      }
    }
    return all;
  }
};

/// However parameters are sharded, their first values are the same; what is no
/// parameter is zero.
TEST_F(StateTest, FirstValuesDoNotDependOnSharding) {
  InitializeOptions options;
  options.init_missing = 0.02;
  options.seed = 5;
  plan::Plan whole = planFor(1, false);
  auto memory = initialize(whole, options);
  std::vector<float> expected = flat(whole, false, memory);
  EXPECT_EQ(expected[0], 3);
  EXPECT_EQ(expected[899], 902);
  EXPECT_EQ(expected[900], 0);
  EXPECT_EQ(expected[5120], 1);
  EXPECT_EQ(expected[5420], 0);
  EXPECT_NE(expected[1024], 0);
  EXPECT_LT(std::abs(expected[1024]), 0.2);
  for (unsigned world : {1u, 2u, 3u, 4u}) {
    for (bool sharded : {false, true}) {
      plan::Plan plan = planFor(world, sharded);
      auto ranks = initialize(plan, options);
      EXPECT_EQ(flat(plan, sharded, ranks), expected);
    }
  }
}

TEST_F(StateTest, ParametersWithoutASourceAreListedTogether) {
  plan::Plan plan = planFor(2, true);
  auto sources = ParameterSources::open(plan, {});
  expectSays(sources.status(), "3 parameters: normal, ones, zeros");
}

/// Ranks save each parameter whole, and it loads back to the same bits; names
/// that are missing or too many are said.
TEST_F(StateTest, SavedWeightsLoadBack) {
  InitializeOptions options;
  options.init_missing = 0.5;
  std::vector<float> expected;
  for (bool sharded : {false, true}) {
    plan::Plan plan = planFor(3, sharded);
    auto ranks = initialize(plan, options);
    expected = flat(plan, sharded, ranks);
    std::string path = folder / "saved.safetensors";
    auto writer = createWeightFile(path, plan, {}).value();
    for (unsigned rank = 0; rank < 3; ++rank) {
      HostBuffer buffer(ranks[rank].data(), ranks[rank].size() * 4);
      RankMemory view = {rank, {&buffer}};
      ASSERT_TRUE(writeWeights(*writer, plan, {}, view).ok());
    }
    ASSERT_TRUE(writer->commit().ok());

    InitializeOptions load;
    load.load_weights = path;
    plan::Plan other = planFor(2, !sharded);
    auto loaded = initialize(other, load);
    EXPECT_EQ(flat(other, !sharded, loaded), expected);

    other.mutable_units(0)->mutable_parameters(1)->set_name("renamed");
    load.init_missing = 1;
    auto sources = ParameterSources::open(other, load).value();
    std::string notes;
    for (const std::string &note : sources->notes()) {
      notes += note + "\n";
    }
    expectSays(notes,
               "not read, as the plan has no such parameter: normal (one that",
               "not in it", "renamed");
    other.mutable_units(0)->mutable_parameters(2)->set_shape(0, 30);
    expectSays(ParameterSources::open(other, load).status(),
               "'ones' is F32 [300], expected F32 [30]");
  }
}

/// Parameters of 16 bits with masters of 32: both come from the file's values,
/// and the master's are written.
TEST_F(StateTest, MastersHoldWhatParametersAreRoundedFrom) {
  plan::Plan plan = planFor(1, false);
  plan::Unit &unit = *plan.mutable_units(0);
  unit.set_type(plan::BF16);
  for (plan::Parameter &parameter : *unit.mutable_parameters()) {
    parameter.set_type(plan::F32);
  }
  for (plan::State &state : *unit.mutable_states()) {
    bool param = state.role() == "param";
    state.set_role(param ? "param" : "master");
    state.set_type(param ? plan::BF16 : plan::F32);
    if (param) {
      plan.mutable_slices(int(state.slice()))->set_bytes(3072 * 2);
    }
  }
  InitializeOptions options;
  options.init_missing = 0.02;
  auto memory = initialize(plan, options);
  auto slice = [&](int index) {
    return reinterpret_cast<const std::byte *>(memory[0].data()) +
           plan.slices(index).offset();
  };
  float master[3072], expected[3072];
  uint16_t param[3072];
  std::memcpy(param, slice(0), sizeof(param));
  std::memcpy(master, slice(2), sizeof(master));
  EXPECT_EQ(master[300], 303);
  EXPECT_NE(master[1100], 0);
  convertElements(plan::BF16, reinterpret_cast<std::byte *>(param), plan::F32,
                  reinterpret_cast<std::byte *>(expected), 3072);
  EXPECT_EQ(expected[300], 304); // 8 bits, the tie to even
  for (int i = 0; i < 3072; ++i) {
    EXPECT_NEAR(expected[i], master[i], std::abs(master[i]) / 256) << i;
  }

  std::string path = folder / "saved.safetensors";
  auto writer = createWeightFile(path, plan, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  HostBuffer buffer(memory[0].data(), memory[0].size() * 4);
  ASSERT_TRUE(writeWeights(**writer, plan, {}, {0, {&buffer}}).ok());
  ASSERT_TRUE((*writer)->commit().ok());
  auto file = readSafetensors(path).value();
  EXPECT_EQ(file.size(), 4u);
  EXPECT_EQ(file.at("held").type, plan::F32);
  InitializeOptions load;
  load.load_weights = path;
  EXPECT_TRUE(std::memcmp(initialize(plan, load)[0].data(), memory[0].data(),
                          plan.arenas(0).bytes()) == 0);

  // Saved with 16 bits, as what is frozen is, they are taken for 32.
  plan::Plan narrow = planFor(1, false);
  for (plan::Parameter &parameter :
       *narrow.mutable_units(0)->mutable_parameters()) {
    parameter.set_type(plan::F32);
  }
  narrow.mutable_units(0)->set_type(plan::BF16);
  for (plan::State &state : *narrow.mutable_units(0)->mutable_states()) {
    state.set_type(plan::BF16);
    narrow.mutable_slices(int(state.slice()))->set_bytes(3072 * 2);
  }
  auto halves = initialize(narrow, load);
  writer = createWeightFile(path, narrow, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  HostBuffer of16(halves[0].data(), halves[0].size() * 4);
  ASSERT_TRUE(writeWeights(**writer, narrow, {}, {0, {&of16}}).ok());
  ASSERT_TRUE((*writer)->commit().ok());
  plan::Plan whole = planFor(1, false);
  auto again = initialize(whole, load);
  EXPECT_EQ(flat(whole, false, again)[300], 304);
}

/// By its parameter's name and its own, whatever the type of either.
TEST_F(StateTest, WhatAnOptimizerKeepsIsWritten) {
  plan::Plan plan = planFor(2, true);
  for (plan::State &state : *plan.mutable_units(0)->mutable_states()) {
    state.set_role(state.role() == "param" ? "exp_avg" : "exp_avg_sq");
  }
  std::string path = folder / "states.safetensors";
  auto writer = createWeightFile(path, plan, {Role::Optimizer}).value();
  std::vector<float> memory(plan.arenas(0).bytes() / 4);
  for (unsigned rank = 0; rank < 2; ++rank) {
    for (size_t i = 0; i < memory.size(); ++i) {
      memory[i] = float(rank * memory.size() + i);
    }
    HostBuffer buffer(memory.data(), memory.size() * 4);
    RankMemory view = {rank, {&buffer}};
    ASSERT_TRUE(writeWeights(*writer, plan, {Role::Optimizer}, view).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
  auto file = readSafetensors(path).value();
  EXPECT_EQ(file.size(), 8u);
  // Elements 1535 and 1536 of the first segment: the end of rank 0's shard and
  // the begin of rank 1's. The second state lies after two shards of the
  // first.
  for (auto [name, before] : {std::pair("normal.exp_avg", 0),
                              std::pair("normal.exp_avg_sq", 2 * 1536)}) {
    const TensorExtent &extent = file.at(name);
    float ends[2];
    ASSERT_TRUE(
        extent.file->read(extent.offset + (1535 - 1024) * 4, 8, ends).ok());
    EXPECT_EQ(ends[0], float(before + 1535)) << name;
    EXPECT_EQ(ends[1], float(memory.size()) + float(before)) << name;
  }
}

/// Gradients are scaled by one rounded factor, as the update does.
TEST_F(StateTest, DumpedGradientsAreScaled) {
  plan::Plan plan = planFor(2, true);
  InitializeOptions options;
  options.init_missing = 0.5;
  auto ranks = initialize(plan, options);
  std::vector<float> values = flat(plan, true, ranks);
  WeightFileOptions scaled = {Role::Param, true, 1.0 / 6};
  std::string path = folder / "grad.safetensors";
  auto writer = createWeightFile(path, plan, scaled).value();
  for (unsigned rank = 0; rank < 2; ++rank) {
    HostBuffer buffer(ranks[rank].data(), ranks[rank].size() * 4);
    RankMemory view = {rank, {&buffer}};
    ASSERT_TRUE(writeWeights(*writer, plan, scaled, view).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
  auto file = readSafetensors(path).value();
  const TensorExtent &extent = file.at("normal");
  std::vector<float> back(4000);
  ASSERT_TRUE(extent.file->read(extent.offset, 16000, back.data()).ok());
  for (size_t i = 0; i < back.size(); ++i) {
    ASSERT_EQ(back[i], values[1024 + i] * float(1.0 / 6));
  }
}

/// A factor that float64 holds is not rounded to float32 on its way.
TEST_F(StateTest, DumpedFloat64GradientsAreScaledInFloat64) {
  plan::Plan plan = planFor(3, true, plan::F64);
  WeightFileOptions scaled = {Role::Param, true, 1.0 / 3};
  std::string path = folder / "grad.safetensors";
  auto writer = createWeightFile(path, plan, scaled).value();
  for (unsigned rank = 0; rank < 3; ++rank) {
    std::vector<double> values(plan.arenas(0).bytes() / sizeof(double), 3.25);
    HostBuffer buffer(values.data(), values.size() * sizeof(double));
    RankMemory view = {rank, {&buffer}};
    ASSERT_TRUE(writeWeights(*writer, plan, scaled, view).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
  auto file = readSafetensors(path).value();
  const TensorExtent &extent = file.at("normal");
  std::vector<double> back(4000);
  ASSERT_TRUE(
      extent.file->read(extent.offset, 4000 * sizeof(double), back.data())
          .ok());
  for (double value : back) {
    ASSERT_EQ(value, 3.25 * (1.0 / 3));
  }
}

/// A value that is no number is named with its place in the parameter,
/// whichever rank holds it; a frozen parameter may be infinite.
TEST_F(StateTest, WeightsThatAreNoNumbersAreNamed) {
  for (float value : {NAN, INFINITY, -INFINITY}) {
    {
      std::fstream model(folder / "model.onnx",
                         std::ios::in | std::ios::out | std::ios::binary);
      model.seekp(12 + 4 * 700);
      model.write(reinterpret_cast<const char *>(&value), 4);
    }
    for (bool trainable : {true, false}) {
      plan::Plan plan = planFor(8, true);
      plan.mutable_units(0)->mutable_parameters(0)->set_trainable(trainable);
      InitializeOptions options;
      options.init_missing = 1;
      auto sources = ParameterSources::open(plan, options).value();
      std::string errors;
      for (unsigned rank = 0; rank < worldOf(plan); ++rank) {
        std::vector<float> memory(plan.arenas(0).bytes() / 4);
        HostBuffer buffer(memory.data(), memory.size() * 4);
        absl::Status status = sources->initialize({rank, {&buffer}});
        errors += std::string(status.message());
      }
      if (!trainable && std::isinf(value)) {
        EXPECT_EQ(errors, "");
        continue;
      }
      expectSays(errors, "'held' begins with ",
                 std::string(std::isnan(value) ? "NaN"
                             : value < 0       ? "-inf"
                                               : "inf"),
                 "in element 700 of 900", "model.onnx");
    }
  }
}

TEST_F(StateTest, ASourceThatDoesNotFitIsAnError) {
  plan::Plan plan = planFor(1, false);
  plan.mutable_units(0)->mutable_parameters(0)->mutable_source()->set_offset(
      16);
  InitializeOptions options;
  options.init_missing = 1;
  auto sources = ParameterSources::open(plan, options);
  expectSays(sources.status(), "'held' has 3600 bytes");
}

} // namespace
