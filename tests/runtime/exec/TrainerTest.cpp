//===- TrainerTest.cpp - training without files or a command line ---------===//

#include "InOrderDevice.h"
#include "LinearPlan.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/Trainer.h"
#include "tests/support/Says.h"
#include "tests/support/Threads.h"

#include "gtest/gtest.h"

#include <cstring>
#include <mutex>
#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using Floats = std::vector<float>;

constexpr size_t kSamples = 16; // elements of x in a micro-batch
constexpr size_t kParameters = 500;
constexpr int kSteps = 3;

float valueOf(size_t i, uint32_t factor) {
  return float(i * factor % 1000) / 500 - 1;
}

/// The elements of x in slice `slice` of step `step`.
Floats samples(int step, unsigned slice) {
  Floats x(kSamples);
  for (size_t i = 0; i < kSamples; ++i) {
    x[i] = valueOf((size_t(step) * 7 + slice) * kSamples + i, 2654435761u);
  }
  return x;
}

absl::Span<const std::byte> bytesOf(const Floats &values) {
  return {reinterpret_cast<const std::byte *>(values.data()),
          values.size() * sizeof(float)};
}

/// The results that all ranks together end with.
struct Trained {
  Floats weights = Floats(kParameters);
  std::vector<double> losses;
};

/// A rank's part of a step's data.
class StepBatch final : public Batch {
public:
  StepBatch(int step, unsigned world, unsigned rank)
      : step(step), world(world), rank(rank) {}

  absl::Status read(uint64_t micro_batch, int, void *to,
                    uint64_t bytes) const override {
    ++reads;
    Floats x = samples(step, unsigned(micro_batch) * world + rank);
    std::memcpy(to, x.data(), bytes);
    return status;
  }

  mutable unsigned reads = 0;
  absl::Status status;

private:
  int step;
  unsigned world, rank;
};

/// One rank: its part of w is written, trained and read through `state`.
absl::Status trainRank(const LoadedPlan &loaded, const Machine *machine,
                       HostCommunicator &comm, bool ahead, Trained &trained) {
  TrainerOptions options;
  options.machine = machine;
  options.threads = 1;
  options.collectives = &comm;
  options.control = &comm;
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer,
                      Trainer::create(loaded, options));
  for (const ParameterPart &part : trainer->state()) {
    if (part.state->role() == "param") {
      Floats w(part.count);
      for (size_t i = 0; i < w.size(); ++i) {
        w[i] = valueOf(part.first + i, 40503u);
      }
      ZG_RETURN_IF_ERROR(part.bytes.write(w.data()));
    }
  }
  uint32_t world = worldOf(loaded.plan);
  for (int step = 0; step < kSteps; ++step) {
    StepBatch batch(step, world, comm.rank());
    StepBatch next(step + 1, world, comm.rank());
    unsigned already = ahead && step > 0;
    bool more = ahead && step + 1 < kSteps;
    ZG_ASSIGN_OR_RETURN(
        StepResult result,
        trainer->step(batch, /*stop=*/false, more ? &next : nullptr));
    EXPECT_EQ(batch.reads, loaded.plan.accumulate() - already);
    EXPECT_EQ(next.reads, more);
    EXPECT_FALSE(result.stop);
    if (comm.rank() == 0) {
      trained.losses.push_back(result.loss);
    }
  }
  EXPECT_EQ(trainer->position().steps, uint64_t(kSteps));
  for (const ParameterPart &part : trainer->state()) {
    if (part.state->role() == "param") {
      EXPECT_EQ(part.parameter->name(), "w");
      // Where parameters are whole, all ranks have the same ones.
      static std::mutex one_at_a_time;
      std::lock_guard<std::mutex> lock(one_at_a_time);
      ZG_RETURN_IF_ERROR(part.bytes.read(trained.weights.data() + part.first));
    }
  }
  return comm.barrier("the end"); // others may read this rank's memory
}

/// On `machine`, or null, each on its own.
Trained trainAll(const LinearOptions &linear, const Machine *machine = nullptr,
                 bool ahead = false) {
  LoadedPlan loaded = linearPlan(linear);
  LocalGroupOptions options;
  options.world = linear.world;
  auto group = makeLocalGroup(options);
  Trained trained;
  std::vector<std::thread> threads;
  for (auto &comm : group) {
    threads.emplace_back([&] {
      absl::Status status = trainRank(loaded, machine, *comm, ahead, trained);
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return trained;
}

/// Batches from memory train to what the formulas say.
TEST(Trainer, AStepIsItsFormula) {
  Trained trained = trainAll({1, 1, 4, false});
  Floats w(kParameters);
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = valueOf(i, 40503u);
  }
  for (int step = 0; step < kSteps; ++step) {
    for (size_t i = 0; i < w.size(); ++i) {
      float sum = 0;
      for (unsigned slice = 0; slice < 4; ++slice) {
        sum += samples(step, slice)[i % kSamples] * (1.0f + 0.001f * float(i));
      }
      w[i] = w[i] - 0.125f * (sum * float(1.0 / 4));
    }
  }
  EXPECT_EQ(trained.weights, w);
  EXPECT_EQ(trained.losses.size(), size_t(kSteps));
}

TEST(Trainer, WhatIsReadAheadIsWhatIsRead) {
  for (uint32_t accumulate : {1u, 4u}) {
    LinearOptions options{1, 1, accumulate, false};
    Trained trained = trainAll(options, nullptr, /*ahead=*/true);
    EXPECT_EQ(trained.weights, trainAll(options).weights);
  }
}

/// The step that needs it fails, and not the one in which it was tried.
TEST(Trainer, WhatCannotBeReadAheadFailsInItsStep) {
  LoadedPlan loaded = linearPlan({1, 1, 2, false});
  auto trainer = Trainer::create(loaded, {}).value();
  StepBatch first(0, 1, 0), second(1, 1, 0);
  second.status = absl::DataLossError("a hole in the disk");
  EXPECT_TRUE(trainer->step(first, false, &second).ok());
  EXPECT_EQ(trainer->step(second).status().message(), "a hole in the disk");
}

/// A device that issues every program from one thread, in the plan's order.
TEST(Trainer, ADeviceThatIssuesInOrderGivesTheSameBits) {
  Trained reference = trainAll({1, 1, 4, false});
  for (uint32_t world : {1u, 2u}) {
    for (uint32_t stage : {1u, 3u}) {
      LinearOptions linear{world, stage, 4 / world, false};
      Machine machine;
      machine.driver = makeInOrderDriver();
      machine.module =
          machine.driver->load(linearPlan(linear).plan, {}).value();
      Trained trained = trainAll(linear, &machine);
      EXPECT_EQ(trained.weights, reference.weights) << world << " " << stage;
      EXPECT_EQ(trained.losses, reference.losses) << world << " " << stage;
    }
  }
}

/// Alone, a trainer opens the machine itself.
TEST(Trainer, OneRankNeedsNobody) {
  LoadedPlan loaded = linearPlan({1, 1, 1, false});
  auto trainer = Trainer::create(loaded, {}).value();
  Floats x = samples(0, 0);
  auto result =
      trainer->step(ArrayBatch({{bytesOf(x)}}), /*stop=*/true).value();
  EXPECT_TRUE(result.stop);
  EXPECT_EQ(result.loss, 0); // all parameters began as zeros
  bool updated = false;
  for (const ParameterPart &part : trainer->state()) {
    Floats values(part.count);
    ASSERT_TRUE(part.bytes.read(values.data()).ok());
    updated |= part.state->role() == "param" && values[0] == -0.125f * x[0];
  }
  EXPECT_TRUE(updated);
}

TEST(Trainer, WhatDoesNotFitIsSaid) {
  LoadedPlan loaded = linearPlan({1, 1, 1, false});
  auto trainer = Trainer::create(loaded, {}).value();
  Floats x(kSamples + 1);
  auto result = trainer->step(ArrayBatch({{bytesOf(x)}}));
  expectSays(result.status(), "68 bytes for input 0 of "
                              "micro-batch 0, expected 64");
  result = Trainer::create(loaded, {}).value()->step(ArrayBatch({}));
  expectSays(result.status(), "no input 0 of micro-batch 0");
  LoadedPlan two = linearPlan({2, 1, 1, false});
  expectSays(Trainer::create(two, {}).status(),
             "the plan is for 2 ranks, and there are 1");
}

/// A batch that one rank has not is everyone's error.
TEST(Trainer, ARankThatFailsEndsTheOthers) {
  LoadedPlan loaded = linearPlan({2, 3, 1, false});
  LocalGroupOptions options;
  options.world = 2;
  auto group = makeLocalGroup(options);
  std::vector<std::unique_ptr<Trainer>> trainers(2); // kept until both end
  std::vector<absl::Status> statuses(2);
  onThreads(2, [&](unsigned rank) {
    TrainerOptions own;
    own.threads = 1;
    own.collectives = group[rank].get();
    own.control = group[rank].get();
    auto made = Trainer::create(loaded, own);
    ASSERT_TRUE(made.ok()) << made.status();
    trainers[rank] = *std::move(made);
    Floats x = samples(0, rank);
    x.resize(rank == 1 ? 3 : kSamples);
    statuses[rank] = trainers[rank]->step(ArrayBatch({{bytesOf(x)}})).status();
  });
  expectSays(statuses[1], "12 bytes for input 0");
  expectSays(statuses[0], "rank 1 failed: the batch has 12");
}

} // namespace
