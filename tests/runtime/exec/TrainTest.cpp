//===- TrainTest.cpp - whole runs of a plan made by hand ------------------===//

#include "LinearPlan.h"

#include "runtime/exec/Train.h"
#include "runtime/io/SafetensorsWriter.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Traffic.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

std::vector<float> floatsOf(const std::string &path, const std::string &name) {
  auto file = readSafetensors(path);
  EXPECT_TRUE(file.ok()) << file.status();
  const TensorExtent &extent = file->at(name);
  std::vector<float> values(extent.bytes / 4);
  EXPECT_TRUE(
      extent.file->read(extent.offset, extent.bytes, values.data()).ok());
  return values;
}

class TrainTest : public FolderCase {
protected:
  void SetUp() override {
    std::vector<float> x(samples * 8), w(500);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = float(i * 2654435761u % 1000) / 500 - 1;
    }
    for (size_t i = 0; i < w.size(); ++i) {
      w[i] = float(i * 40503u % 997) / 500 - 1;
    }
    write("data.safetensors", "x", {samples, 8}, x);
    write("w.safetensors", "w", {500}, w);
    options.data = {path("data.safetensors")};
    options.load_weights = path("w.safetensors");
    options.save_weights = path("out.safetensors");
    options.log = path("log.jsonl");
    options.quiet = true;
    options.threads = 1;
    options.steps = 5;
    options.deadline_seconds = 20;
    options.say = [this](const std::string &text) { said.push_back(text); };
    options.warn = [this](const std::string &text) { warned.push_back(text); };
  }

  void write(const std::string &file, const std::string &name,
             std::vector<uint64_t> shape, const std::vector<float> &values) {
    auto writer =
        SafetensorsWriter::create(path(file), {{name, plan::F32, shape}})
            .value();
    ASSERT_TRUE(writer->write(name, 0, values.size() * 4, values.data()).ok());
    ASSERT_TRUE(writer->commit().ok());
  }

  TrainResult run(const LinearOptions &linear) {
    auto result = train(linearPlan(linear), options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : TrainResult();
  }

  const uint64_t samples = 50;
  TrainOptions options;
  std::vector<std::string> said, warned;
};

/// Every way of dividing four micro-batches over ranks, micro-batches, stages
/// and threads does to the bit what one rank does with them.
TEST_F(TrainTest, AnyDivisionOfAStepGivesTheSameBits) {
  TrainResult reference = run({1, 1, 4, false});
  std::vector<float> weights = floatsOf(path("out.safetensors"), "w");
  ASSERT_EQ(reference.losses.size(), 5u);
  for (uint32_t world : {1u, 2u, 4u}) {
    for (uint32_t stage : {1u, 3u}) {
      for (unsigned threads : {1u, 3u}) {
        options.threads = threads;
        TrainResult result = run({world, stage, 4 / world, false});
        EXPECT_EQ(result.losses, reference.losses)
            << world << " ranks, stage " << stage;
        EXPECT_EQ(floatsOf(path("out.safetensors"), "w"), weights)
            << world << " ranks, stage " << stage;
      }
    }
  }
}

/// Rank 1 cannot write its part: all ranks end, and soon, with its error.
TEST_F(TrainTest, ARankThatCannotWriteEndsTheRun) {
  options.checkpoint = path("c");
  options.every = 1;
  options.steps = 1000000;
  std::string taken = path("c/step-00000003.writing/rank-00001.safetensors.") +
                      std::to_string(getpid()) + ".tmp";
  options.on_step = [&](const StepRecord &record) {
    if (record.step == 0) {
      std::filesystem::create_directories(taken);
    }
  };
  auto result = train(linearPlan({2, 3, 1, false}), options);
  expectSays(result.status(), "rank 1: ", "the checkpoint after 3 steps",
             "rank-00001");
  EXPECT_TRUE(std::filesystem::exists(path("c/step-00000002/index.json")));
  EXPECT_FALSE(std::filesystem::exists(path("c/step-00000003")));
}

/// A run that stops and goes on is one run, on other ranks too.
TEST_F(TrainTest, GoesOnWhereItStopped) {
  TrainResult whole = run({1, 1, 4, false});
  std::vector<float> weights = floatsOf(path("out.safetensors"), "w");
  options.checkpoint = path("c");
  options.steps = 2;
  TrainResult first = run({2, 3, 2, false});
  EXPECT_EQ(first.checkpoints.last, path("c/step-00000002"));
  options.resume = "latest";
  options.steps = 5;
  TrainResult second = run({4, 1, 1, false});
  EXPECT_EQ(second.first_step, 2u);
  ASSERT_EQ(second.losses.size(), 3u);
  EXPECT_TRUE(std::equal(second.losses.begin(), second.losses.end(),
                         whole.losses.begin() + 2));
  EXPECT_EQ(floatsOf(path("out.safetensors"), "w"), weights);
}

/// The trace has every step of both programs on both ranks, streams in order.
TEST_F(TrainTest, TraceHasEveryStep) {
  options.trace = path("trace.json");
  LinearOptions linear{2, 3, 2, false};
  run(linear);
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(options.trace));
  size_t steps = 0;
  LoadedPlan loaded = linearPlan(linear);
  for (const plan::Program &program : loaded.plan.programs()) {
    steps += program.steps_size();
  }
  size_t events = 0;
  std::map<std::pair<int, int>, double> end; // of a rank's stream
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      events += event["cat"] != "wait";
      double &last = end[{event["pid"], event["tid"]}];
      EXPECT_GE(event["ts"], last);
      last = event["ts"].get<double>() + event["dur"].get<double>() - 0.001;
    }
  }
  EXPECT_EQ(events, 2 * steps);

  options.trace = path("missing/trace.json");
  auto result = train(linearPlan(linear), options);
  expectSays(result.status(), "there is no folder");
}

/// A rank that comes late to a collective is waited for: that is no work of it.
TEST_F(TrainTest, TraceTellsWaitingFromWork) {
  options.trace = path("trace.json");
  options.steps = 1;
  options.on_collective = [](unsigned rank, const CollectiveSite &site) {
    if (rank == 1 && site.sequence == 0) {
      // Far longer than a busy machine keeps a rank from running.
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
  };
  run({2, 3, 1, true});
  nlohmann::json trace = nlohmann::json::parse(std::ifstream(options.trace));
  double waited = 0, worked = 0; // longest of rank 0
  std::string name;
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != 0) {
      continue;
    }
    double milliseconds = event["dur"].get<double>() / 1e3;
    if (event["cat"] != "wait") {
      worked = std::max(worked, milliseconds);
    } else if (milliseconds > waited) {
      waited = milliseconds;
      name = event["name"];
    }
  }
  EXPECT_GT(waited, 1000);
  EXPECT_LT(worked, 1000);
  EXPECT_TRUE(name.starts_with("wait for ranks to begin: ")) << name;
}

/// A rank comes late in step 1 alone.
TEST_F(TrainTest, TraceShowsTheStepThatWasAskedFor) {
  options.trace = path("trace.json");
  options.steps = 3;
  std::atomic<unsigned> begun = 0; // of rank 1's steps
  options.on_collective = [&](unsigned rank, const CollectiveSite &site) {
    if (rank == 1 && site.sequence == 0 && begun++ == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
  };
  auto longestWait = [&] {
    begun = 0;
    run({2, 3, 1, true});
    double longest = 0;
    nlohmann::json trace = nlohmann::json::parse(std::ifstream(options.trace));
    for (const auto &event : trace["traceEvents"]) {
      if (event["ph"] == "X" && event["cat"] == "wait") {
        longest = std::max(longest, event["dur"].get<double>() / 1e6);
      }
    }
    return longest;
  };
  EXPECT_LT(longestWait(), 1) << "the last";
  options.trace_step = 1;
  EXPECT_GT(longestWait(), 1);
  options.trace_step = 3;
  expectSays(train(linearPlan({2, 3, 1, true}), options).status(),
             "--trace-step 3: this run makes 3 steps, from 0 on");
}

/// The run computes what the formulas say.
TEST_F(TrainTest, AStepIsItsFormula) {
  options.steps = 1;
  options.dump_gradients = path("grad.safetensors");
  std::vector<float> x = floatsOf(options.data[0], "x");
  std::vector<float> w = floatsOf(options.load_weights, "w");
  TrainResult result = run({3, 3, 1, true});
  std::vector<float> expected(500), after(500);
  double loss = 0;
  for (size_t j = 0; j < 500; ++j) {
    float sum = 0;
    for (size_t rank = 0; rank < 3; ++rank) {
      sum += x[rank * 16 + j % 16] * (1.0f + 0.001f * float(j));
    }
    expected[j] = sum * float(1.0 / 3);
    after[j] = w[j] - 0.125f * expected[j];
  }
  for (size_t rank = 0; rank < 3; ++rank) {
    for (size_t i = 0; i < 16; ++i) {
      loss += double(x[rank * 16 + i]) * w[64 + i];
      for (size_t k = 0; k < 8; ++k) {
        loss += double(x[rank * 16 + i / 8 * 8 + k]) * w[k * 8 + i % 8];
      }
    }
  }
  EXPECT_NEAR(result.losses[0], loss / 3, 1e-5);
  EXPECT_EQ(floatsOf(options.dump_gradients, "w"), expected);
  EXPECT_EQ(floatsOf(options.save_weights, "w"), after);
}

/// Bytes counted and the highest byte touched are what the plan states.
TEST_F(TrainTest, TheAccountOfThePlanIsExact) {
  for (uint32_t world : {1u, 2u, 3u}) {
    for (uint32_t accumulate : {1u, 2u}) {
      LoadedPlan loaded = linearPlan({world, 3, accumulate, false});
      auto result = train(loaded, options).value();
      Traffic planned = trafficOf(loaded.plan);
      for (const exec::RankReport &rank : result.ranks) {
        EXPECT_EQ(rank.first_step().gather(), planned.gather.saturated());
        EXPECT_EQ(rank.first_step().reduce(), planned.reduce.saturated());
        EXPECT_EQ(rank.first_step().scalar(), planned.scalar.saturated());
        EXPECT_EQ(rank.total().reduce(), 5 * planned.reduce.saturated());
        uint64_t bytes = 0;
        for (int i = 0; i < loaded.plan.arenas_size(); ++i) {
          bytes += loaded.plan.arenas(i).bytes();
          EXPECT_GE(rank.touched(i), writtenEnd(loaded.plan, i));
          EXPECT_LE(rank.touched(i), peakOf(loaded.plan, i));
        }
        EXPECT_EQ(rank.arena_bytes(), bytes);
      }
    }
  }
}

/// A log line a step, in order, with the losses to the bit.
TEST_F(TrainTest, TheLogHasEveryStep) {
  TrainResult result = run({2, 1, 1, false});
  std::ifstream file(options.log);
  size_t step = 0;
  for (std::string line; std::getline(file, line); ++step) {
    size_t at = line.find("\"loss\": ");
    ASSERT_NE(at, std::string::npos) << line;
    EXPECT_EQ(std::stod(line.substr(at + 8)), result.losses[step]);
    EXPECT_EQ(line.find("{\"step\": " + std::to_string(step) + ","), 0u);
  }
  EXPECT_EQ(step, 5u);
  // 50 samples: twelve whole steps of 4.
  ASSERT_EQ(said.size(), 1u);
  expectSays(said[0], "the last 2 samples are not used");
}

/// Past the end of the data a run begins anew.
TEST_F(TrainTest, DataWrapsAround) {
  options.steps = 14;
  options.learning_rate = 0;
  TrainResult result = run({2, 1, 1, false});
  ASSERT_EQ(result.losses.size(), 14u);
  EXPECT_EQ(result.losses[12], result.losses[0]);
  EXPECT_EQ(result.losses[13], result.losses[1]);
  EXPECT_NE(result.losses[1], result.losses[0]);
}

/// Asked to stop, all ranks do the same number of steps and save.
TEST_F(TrainTest, AStopEndsAllRanksAfterTheSameStep) {
  std::atomic<bool> stop{false};
  options.stop = &stop;
  options.steps = 1000;
  std::atomic<unsigned> calls{0};
  options.on_collective = [&](unsigned rank, const CollectiveSite &) {
    if (rank == 1 && ++calls == 20) {
      stop = true;
    }
  };
  TrainResult result = run({3, 3, 1, false});
  EXPECT_TRUE(result.stopped);
  EXPECT_LT(result.losses.size(), 20u);
  EXPECT_GE(result.losses.size(), 6u);
  EXPECT_EQ(floatsOf(options.save_weights, "w").size(), 500u);
}

/// A loss that is no number is said once and the run goes on; in the end the
/// weights are looked at, also those of other ranks.
TEST_F(TrainTest, ALossThatIsNoNumberIsSaidOnce) {
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.steps = 4;
  TrainResult result = run({1, 1, 1, false});
  EXPECT_EQ(result.losses.size(), 4u);
  EXPECT_TRUE(std::isnan(result.losses[3]));
  EXPECT_TRUE(said.empty());
  ASSERT_EQ(warned.size(), 1u);
  expectSays(warned[0], "the loss of step 2 is NaN");
  EXPECT_EQ(result.nonfinite_weight, "element 0 of the 500 of 'w' is NaN");

  options.learning_rate.reset();
  EXPECT_EQ(run({2, 3, 1, false}).nonfinite_weight, "");
}

/// A weight that the last step made so is in no loss.
TEST_F(TrainTest, WeightsThatAreNoNumbersAreFoundOnEachRank) {
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.steps = 1;
  for (uint32_t stage : {1u, 3u}) {
    TrainResult result = run({4, stage, 1, false});
    EXPECT_TRUE(warned.empty());
    EXPECT_EQ(result.nonfinite_weight, "element 0 of the 500 of 'w' is NaN");
  }
  options.save_weights.clear(); // so nothing is kept
  EXPECT_EQ(run({1, 1, 1, false}).nonfinite_weight, "");
}

/// A rank that fails in the middle ends all, with its own error.
TEST_F(TrainTest, AFailingRankEndsAllWithItsError) {
  options.deadline_seconds = 3;
  options.on_collective = [&](unsigned rank, const CollectiveSite &site) {
    if (rank == 2 && site.sequence == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(6));
    }
  };
  auto result = train(linearPlan({3, 3, 1, false}), options);
  ASSERT_FALSE(result.ok());
  std::string message(result.status().message());
  expectSays(message, "for rank 2", "reduce_scatter", "reduce linear");
  EXPECT_FALSE(std::filesystem::exists(options.save_weights));
}

TEST_F(TrainTest, AnotherMachinesPlanIsRefused) {
  LoadedPlan loaded = linearPlan({});
  loaded.plan.mutable_devices(0)->add_features("avx9000");
  loaded.plan.mutable_devices(0)->set_math_library("oneDNN 0.1");
  auto result = train(loaded, options);
  ASSERT_FALSE(result.ok());
  std::string message(result.status().message());
  expectSays(message, "avx9000", "oneDNN 0.1");
}

TEST_F(TrainTest, MissingWeightsAreAllNamed) {
  options.load_weights = "";
  auto result = train(linearPlan({}), options);
  expectSays(result.status(), "1 parameters: w");
  options.init_missing = 0.02;
  EXPECT_TRUE(train(linearPlan({}), options).ok());
}

} // namespace
