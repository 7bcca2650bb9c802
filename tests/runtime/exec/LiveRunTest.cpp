//===- LiveRunTest.cpp - steps with batches of the caller's ---------------===//

#include "LinearPlan.h"

#include "runtime/exec/LiveRun.h"
#include "runtime/exec/Train.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using Floats = std::vector<float>;

constexpr size_t kSample = 8; // elements of x in a sample
constexpr int kSteps = 4;

/// The batch of a step with so many samples.
Floats batchOf(int step, size_t samples) {
  Floats x(samples * kSample);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float((size_t(step) * 131 + i * 37) % 100) / 50 - 1;
  }
  return x;
}

TensorFile shaped(const std::string &name, const Floats &x,
                  const std::vector<uint64_t> &shape) {
  TensorExtent extent;
  extent.type = plan::F32;
  extent.shape = shape;
  extent.bytes = x.size() * sizeof(float);
  extent.file = File::ofMemory(name, x.data(), extent.bytes);
  return {{name, extent}};
}

TensorFile named(const std::string &name, const Floats &x) {
  return shaped(name, x, {x.size() / kSample, kSample});
}

TrainOptions quiet(double deviation = 1) {
  TrainOptions options;
  options.init_missing = deviation;
  options.say = options.warn = [](const std::string &) {};
  options.deadline_seconds = 20;
  return options;
}

std::unique_ptr<LiveRun> openRun(const LoadedPlan &plan,
                                 const TrainOptions &options = quiet()) {
  auto run = LiveRun::open(plan, options);
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

/// Reads parameter "w" of all ranks.
Floats weightsOf(LiveRun &run) {
  Floats w(500);
  std::mutex mutex;
  absl::Status read = run.read({}, [&](const std::string &name, uint64_t offset,
                                       uint64_t bytes, const void *data) {
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(name, "w");
    std::memcpy(reinterpret_cast<char *>(w.data()) + offset, data, bytes);
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
  return w;
}

/// Every division of a step's samples among ranks and micro-batches gives the
/// bits of one rank.
TEST(LiveRun, RanksDoNotMatter) {
  Floats reference;
  std::vector<double> losses;
  for (LinearOptions linear : {LinearOptions{1, 1, 4},
                               LinearOptions{2, 1, 2},
                               LinearOptions{2, 3, 2},
                               {4, 3, 1}}) {
    LoadedPlan plan = linearPlan(linear);
    auto run = openRun(plan);
    std::vector<double> made;
    for (int step = 0; step < kSteps; ++step) {
      made.push_back(run->step(named("x", batchOf(step, 8))).value().loss);
    }
    EXPECT_EQ(run->position().steps, uint64_t(kSteps));
    if (reference.empty()) {
      reference = weightsOf(*run);
      losses = made;
    }
    EXPECT_EQ(weightsOf(*run), reference) << linear.world << linear.stage;
    EXPECT_EQ(made, losses) << linear.world << linear.stage;
    EXPECT_TRUE(run->end().ok());
  }
}

/// Its steps are those of a run that reads the same samples from files.
TEST(LiveRun, TrainsAsARunWithFiles) {
  Folder folder;
  LoadedPlan plan = linearPlan({2, 3, 2});
  Floats all;
  for (int step = 0; step < kSteps; ++step) {
    Floats x = batchOf(step, 8);
    all.insert(all.end(), x.begin(), x.end());
  }
  std::string path = folder.path + "/x.safetensors";
  auto writer = SafetensorsWriter::create(
      path, {{"x", plan::F32, {all.size() / kSample, kSample}}});
  ASSERT_TRUE(
      (*writer)->write("x", 0, all.size() * sizeof(float), all.data()).ok());
  ASSERT_TRUE((*writer)->commit().ok());
  TrainOptions options = quiet();
  options.data = {path};
  options.quiet = true;
  TrainResult trained = train(plan, options).value();
  auto run = openRun(plan);
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_EQ(run->step(named("x", batchOf(step, 8))).value().loss,
              trained.losses[size_t(step)]);
  }
}

/// A wrong batch is refused, and the run goes on as if it had not been given.
TEST(LiveRun, AWrongBatchChangesNothing) {
  LoadedPlan plan = linearPlan({2, 1, 2});
  auto run = openRun(plan), other = openRun(plan);
  auto refused = [&](const TensorFile &batch) {
    return std::string(run->step(batch).status().message());
  };
  EXPECT_EQ(
      refused(named("x", batchOf(0, 4))),
      "the batch: has 4 samples; a step takes 8 (2 ranks x 2 "
      "micro-batches x 2 samples): leave out a last batch that is smaller "
      "(drop_last), or make a plan for it too");
  expectSays(refused(named("X", batchOf(0, 8))),
             "the batch: input 'x' is missing", "call 'X' 'x' there");
  TensorFile whole = named("x", batchOf(0, 8));
  whole["x"].type = plan::I32;
  expectSays(refused(whole), "'x' is I32 [8, 8], expected F32");
  EXPECT_EQ(run->step(named("x", batchOf(0, 8))).value().loss,
            other->step(named("x", batchOf(0, 8))).value().loss);
}

TEST(LiveRun, APartOfAStepHasItsTime) {
  LoadedPlan plan = linearPlan({1, 1, 2, /*dump_gradients=*/true});
  auto run = openRun(plan), other = openRun(plan);
  TensorFile batch = named("x", batchOf(0, 4));
  expectSays(std::string(run->update().status().message()),
             "accumulate comes first");
  Floats x = batchOf(0, 4);
  ASSERT_TRUE(run->accumulate(named("x", x)).ok());
  expectSays(std::string(run->accumulate(named("x", x)).message()),
             "update comes next");
  WeightFileOptions gradients{Role::Gradient, /*trainable_only=*/true};
  Floats g(500);
  ASSERT_TRUE(run->read(gradients,
                        [&](const std::string &, uint64_t offset,
                            uint64_t bytes, const void *data) {
                          std::memcpy(reinterpret_cast<char *>(g.data()) +
                                          offset,
                                      data, bytes);
                          return absl::OkStatus();
                        })
                  .ok());
  // SGD with a rate of 0.125.
  Floats w = weightsOf(*run);
  EXPECT_EQ(run->update().value().loss,
            other->step(named("x", x)).value().loss);
  Floats after = weightsOf(*run);
  EXPECT_EQ(after, weightsOf(*other));
  for (size_t i = 0; i < w.size(); ++i) {
    EXPECT_EQ(after[i], w[i] - 0.125f * g[i]);
  }
  EXPECT_FALSE(
      run->read(gradients, [](auto &&...) { return absl::OkStatus(); }).ok());
}

/// A run goes on as the one whose parameters it is given, shards and copies.
TEST(LiveRun, TakesParametersOfTheCaller) {
  for (LinearOptions linear : {LinearOptions{1, 1, 4},
                               LinearOptions{2, 1, 2},
                               LinearOptions{2, 3, 2},
                               {4, 3, 1}}) {
    LoadedPlan plan = linearPlan(linear);
    auto run = openRun(plan), other = openRun(plan);
    ASSERT_TRUE(run->step(named("x", batchOf(0, 8))).ok());
    ASSERT_TRUE(other->step(named("x", batchOf(1, 8))).ok());
    Floats given = weightsOf(*run);
    EXPECT_NE(weightsOf(*other), given);
    absl::Status written =
        other->write(Role::Param, shaped("w", given, {given.size()}));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(weightsOf(*other), given);
    EXPECT_EQ(run->step(named("x", batchOf(2, 8))).value().loss,
              other->step(named("x", batchOf(2, 8))).value().loss);
    EXPECT_EQ(weightsOf(*run), weightsOf(*other));
  }
}

TEST(LiveRun, WrongParametersChangeNothing) {
  LoadedPlan plan = linearPlan({2, 3, 2});
  auto run = openRun(plan);
  Floats before = weightsOf(*run), given(500, 1), nan = given;
  nan[3] = std::nanf("");
  auto refused = [&](const TensorFile &arrays) {
    return std::string(run->write(Role::Param, arrays).message());
  };
  TensorFile two = shaped("w", given, {250, 2});
  two["v"] = two["w"];
  expectSays(refused(two), "nothing was written:\n  there is no 'v'",
             "'w' is F32 [250, 2], expected F32 [500]");
  TensorFile wide = shaped("w", given, {500});
  wide["w"].type = plan::F64;
  expectSays(refused(wide), "'w' is F64 [500], expected F32 [500]");
  expectSays(refused(shaped("w", nan, {500})), "'w' has NaN in element 3");
  EXPECT_EQ(weightsOf(*run), before);
}

/// Parameters may be others while gradients are made than while they are used.
TEST(LiveRun, TakesParametersWithinAStep) {
  LoadedPlan plan = linearPlan({2, 3, 2}), fused = linearPlan({2, 1, 1});
  auto run = openRun(plan), other = openRun(plan), one = openRun(fused);
  Floats begin = weightsOf(*run), moved(500, 0.5f), x = batchOf(0, 8);
  auto write = [](LiveRun &to, const Floats &w) {
    return to.write(Role::Param, shaped("w", w, {500}));
  };
  ASSERT_TRUE(write(*run, moved).ok());
  ASSERT_TRUE(write(*other, moved).ok());
  ASSERT_TRUE(run->accumulate(named("x", x)).ok());
  ASSERT_TRUE(write(*run, begin).ok());
  EXPECT_EQ(run->update().value().loss,
            other->step(named("x", x)).value().loss);
  Floats a = weightsOf(*run), b = weightsOf(*other);
  for (size_t i = 0; i < a.size(); ++i) { // both have moved as far
    EXPECT_NEAR(a[i] - begin[i], b[i] - moved[i], 1e-5f);
  }
  ASSERT_TRUE(one->accumulate(named("x", batchOf(0, 4))).ok());
  expectSays(std::string(write(*one, begin).message()), "is made already",
             "--accumulate 2");
  expectSays(std::string(one->discard().message()), "is made already");
  EXPECT_TRUE(one->update().ok());
}

/// Gradients that are dropped leave no trace.
TEST(LiveRun, DiscardsGradients) {
  LoadedPlan plan = linearPlan({2, 3, 2});
  auto run = openRun(plan), other = openRun(plan);
  expectSays(std::string(run->discard().message()), "accumulate comes first");
  ASSERT_TRUE(run->accumulate(named("x", batchOf(7, 8))).ok());
  ASSERT_TRUE(run->discard().ok());
  EXPECT_EQ(run->step(named("x", batchOf(0, 8))).value().loss,
            other->step(named("x", batchOf(0, 8))).value().loss);
  EXPECT_EQ(weightsOf(*run), weightsOf(*other));
  EXPECT_EQ(run->position().steps, 1u);
}

TEST(LiveRun, TheCallerChoosesTheRate) {
  LoadedPlan plan = linearPlan({1, 1, 1});
  auto run = openRun(plan), other = openRun(plan);
  Floats before = weightsOf(*run), x = batchOf(0, 2);
  run->setLearningRate(0);
  EXPECT_EQ(run->step(named("x", x)).value().learning_rate, 0);
  EXPECT_EQ(weightsOf(*run), before);
  run->setLearningRate(std::nullopt);
  EXPECT_EQ(run->step(named("x", x)).value().learning_rate, 0.125);
  ASSERT_TRUE(other->step(named("x", x)).ok());
  EXPECT_EQ(weightsOf(*run), weightsOf(*other));
}

/// A checkpoint is one that `resume` takes, also for other ranks; the next one
/// may go elsewhere.
TEST(LiveRun, GoesOnFromItsCheckpoint) {
  Folder folder;
  LoadedPlan one = linearPlan({1, 1, 4}), two = linearPlan({2, 3, 2});
  auto run = openRun(two);
  ASSERT_TRUE(run->step(named("x", batchOf(0, 8))).ok());
  std::string path = run->saveCheckpoint(folder.path + "/a").value();
  EXPECT_EQ(path, folder.path + "/a/step-00000001");
  EXPECT_EQ(run->saveCheckpoint(folder.path + "/b").value(),
            folder.path + "/b/step-00000001");
  TrainOptions options = quiet();
  options.resume = folder.path + "/a";
  auto resumed = openRun(one, options);
  EXPECT_EQ(resumed->position().steps, 1u);
  EXPECT_EQ(resumed->step(named("x", batchOf(1, 8))).value().loss,
            run->step(named("x", batchOf(1, 8))).value().loss);
  EXPECT_EQ(weightsOf(*resumed), weightsOf(*run));
  // The next one may go to a folder that this run has used.
  EXPECT_EQ(run->saveCheckpoint(folder.path + "/a").value(),
            folder.path + "/a/step-00000002");
  // A folder that is of another run is refused, and the run goes on.
  EXPECT_FALSE(openRun(one)->saveCheckpoint(folder.path + "/b").ok());
}

/// A checkpoint of a step stays as it is: what is written after it goes
/// elsewhere.
TEST(LiveRun, WhatIsWrittenIsInTheNextCheckpoint) {
  Folder folder;
  LoadedPlan plan = linearPlan({2, 3, 2});
  auto run = openRun(plan);
  ASSERT_TRUE(run->step(named("x", batchOf(0, 8))).ok());
  ASSERT_TRUE(run->saveCheckpoint(folder.path + "/a").ok());
  Floats given(500, 0.25f);
  ASSERT_TRUE(run->write(Role::Param, shaped("w", given, {500})).ok());
  expectSays(
      std::string(run->saveCheckpoint(folder.path + "/a").status().message()),
      "has a checkpoint after 1 steps already", "another folder");
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(run->saveCheckpoint(folder.path + "/b").ok());
  }
  TrainOptions options = quiet();
  options.resume = folder.path + "/b";
  EXPECT_EQ(weightsOf(*openRun(plan, options)), given);
  ASSERT_TRUE(run->step(named("x", batchOf(1, 8))).ok());
  EXPECT_TRUE(run->saveCheckpoint(folder.path + "/a").ok());
}

/// A run with a folder from the beginning writes after every N steps, and at
/// the end.
TEST(LiveRun, WritesCheckpointsByItself) {
  Folder folder;
  LoadedPlan plan = linearPlan({1, 1, 1});
  TrainOptions options = quiet();
  options.checkpoint = folder.path + "/c";
  options.every = 2;
  auto run = openRun(plan, options);
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(run->step(named("x", batchOf(step, 2))).ok());
  }
  ASSERT_TRUE(run->end().ok());
  std::vector<std::string> names;
  std::vector<PublishedCheckpoint> published =
      publishedIn(folder.path + "/c").value();
  for (const PublishedCheckpoint &one : published) {
    names.push_back(one.path.substr(one.path.rfind('/')));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"/step-00000002", "/step-00000003"}));
}

/// One rank has all weights where they can be seen; of shards, none.
TEST(LiveRun, FindsWhatOneRankHasWhole) {
  LoadedPlan one = linearPlan({1, 1, 1}), twelve = linearPlan({12, 3, 1});
  auto run = openRun(one), sharded = openRun(twelve);
  std::map<std::string, DeviceRange> whole = run->whole({});
  ASSERT_EQ(whole.count("w"), 1u);
  Floats w(500);
  ASSERT_TRUE(whole.at("w").read(w.data()).ok());
  EXPECT_EQ(w, weightsOf(*run));
  EXPECT_EQ(sharded->whole({}).count("w"), 0u);
}

TEST(LiveRun, SaysThatItHasEnded) {
  LoadedPlan plan = linearPlan({2, 1, 1});
  auto run = openRun(plan);
  run->abort("the loader failed");
  expectSays(
      std::string(run->step(named("x", batchOf(0, 4))).status().message()),
      "the run has ended: the loader failed");
  auto closed = openRun(plan);
  ASSERT_TRUE(closed->end().ok());
  expectSays(std::string(closed->end().message()), "it was closed");
  expectSays(std::string(closed->saveCheckpoint("x").status().message()),
             "it was closed");
}

/// The threads of a rank do the same work at once, again and again.
TEST(RankThreads, AllWorkInEachRound) {
  auto threads = RankThreads::start(3).value();
  std::vector<int> counts(3);
  for (int round = 1; round <= 100; ++round) {
    threads->run([&](size_t rank) { ++counts[rank]; });
    EXPECT_EQ(counts, std::vector<int>(3, round));
  }
}

} // namespace
