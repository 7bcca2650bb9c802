//===- CudaMutationTest.cpp - wrong plans, run anyway on a GPU ------------===//
//
// Plans for CUDA are changed so that two steps of different streams touch the
// same bytes with nothing that puts them in order. The verifier refuses each;
// run in spite of it, the emulated GPU reports each, whatever order it drew.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/Backend.h"
#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/Trainer.h"
#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"
#include "tests/emulator/CublasLt.h"
#include "tests/mutations/Mutation.h"
#include "tests/support/Threads.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

namespace zerograph::testing {
namespace {

constexpr uint64_t kSeeds = 4; // of each mutation and plan
constexpr uint64_t kFewest = 40;

/// Inputs that are all zeros.
class NoBatch final : public Batch {
public:
  absl::Status read(uint64_t, int, void *to, uint64_t bytes) const override {
    std::memset(to, 0, bytes);
    return absl::OkStatus();
  }
};

/// One step of all ranks, without a look at what the plan does.
absl::Status runUnverified(const LoadedPlan &loaded, Graphs graphs) {
  Machine machine;
  ZG_ASSIGN_OR_RETURN(machine.driver,
                      backendOf(loaded.plan).open(loaded.plan.devices(0), 0));
  ZG_ASSIGN_OR_RETURN(machine.module, machine.driver->load(loaded.plan, {}));
  LocalGroupOptions group;
  group.world = worldOf(loaded.plan);
  auto communicators = makeLocalGroup(group);
  std::vector<ControlPlane *> controls;
  for (auto &communicator : communicators) {
    controls.push_back(communicator.get());
  }
  auto collectives = backendOf(loaded.plan).share(*machine.module, controls);
  std::vector<std::unique_ptr<Trainer>> trainers(group.world);
  std::vector<absl::Status> statuses(group.world);
  onThreads(group.world, [&](unsigned rank) {
    TrainerOptions options;
    options.machine = &machine;
    options.collectives = collectives[rank].get();
    options.control = controls[rank];
    options.graphs = graphs;
    auto trainer = Trainer::create(loaded, options);
    statuses[rank] = trainer.status();
    if (trainer.ok()) {
      trainers[rank] = std::move(*trainer);
      statuses[rank] = trainers[rank]->step(NoBatch()).status();
    }
  });
  for (const absl::Status &status : statuses) {
    ZG_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

std::vector<Training> trainings() {
  auto make = [](int64_t ranks, int64_t stage, int64_t accumulate) {
    Training training{"mlp-digits", "model.onnx", "adamw", ranks, stage};
    training.accumulate = accumulate;
    training.micro_batch = 2;
    training.matmul = accumulate == 1 ? "library" : "generated";
    training.target = "cuda:emulated";
    training.bucket_bytes = 10000; // several segments a unit
    return training;
  };
  return {make(2, 1, 1), make(2, 2, 2), make(3, 3, 1), make(2, 3, 2)};
}

/// The plan as ranks of one process run it: they read each other's memory, so
/// that an all-reduce does not touch its staging.
plan::Plan asRunHere(plan::Plan plan) {
  for (plan::Program &program : *plan.mutable_programs()) {
    for (plan::Step &step : *program.mutable_steps()) {
      auto *accesses = step.mutable_accesses();
      accesses->erase(
          std::remove_if(accesses->begin(), accesses->end(),
                         [&](const plan::Access &access) {
                           return step.has_all_reduce() &&
                                  plan.slices(access.slice()).slice_class() ==
                                      plan::STAGING;
                         }),
          accesses->end());
    }
  }
  return plan;
}

/// Returns those mutations of the tables after which a run can begin.
std::vector<Mutation> mutations() {
  const std::set<std::string> kinds = {"waits", "offsets", "misplaced",
                                       "streams"};
  std::vector<Mutation> all;
  for (auto list : {orderMutations, memoryMutations, stepMutations}) {
    for (const Mutation &mutation : list()) {
      // Alignment is reported as such, and not only as a race.
      bool aligned = std::string(mutation.name) != "not aligned";
      if (kinds.contains(mutation.kind) && aligned) {
        all.push_back(mutation);
      }
    }
  }
  return all;
}

TEST(CudaMutations, SoundPlansRun) {
  for (const Training &training : trainings()) {
    plan::Plan plan = compilePlan(training);
    EXPECT_EQ(unordered(plan), std::nullopt);
    auto loaded = parsePlan(*serializePlan(plan)).value();
    emulator::Gpu gpu(1);
    emulator::CublasLt library(gpu);
    absl::Status status = runUnverified(loaded, Graphs::Compute);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(gpu.complaint(), "");
  }
}

TEST(CudaMutations, WhatNothingOrdersIsReported) {
  uint64_t seed = 0, reported = 0;
  std::map<std::string, uint64_t> counts;
  for (const Training &training : trainings()) {
    plan::Plan original = compilePlan(training);
    for (const Mutation &mutation : mutations()) {
      for (uint64_t i = 0; i < kSeeds; ++i) {
        Random random(++seed);
        plan::Plan plan = original;
        std::optional<std::string> change = mutation.apply(plan, random);
        auto loose = change ? unordered(asRunHere(plan)) : std::nullopt;
        if (!loose) {
          continue;
        }
        std::string what =
            absl::StrCat(mutation.name, ", seed ", seed, ": ", *change, " in ",
                         training.describe(), ": ", *loose);
        auto loaded = parsePlan(*serializePlan(plan));
        if (!loaded.ok()) {
          continue; // not even read
        }
        EXPECT_FALSE(verifyPlan(plan).ok()) << what;
        emulator::Gpu gpu{uint32_t(seed)};
        emulator::CublasLt library(gpu);
        absl::Status status = runUnverified(
            *loaded, seed % 2 == 0 ? Graphs::Compute : Graphs::Off);
        // The library refuses some of them before any step is a race.
        EXPECT_THAT(gpu.complaint(),
                    ::testing::AnyOf(
                        ::testing::HasSubstr("nothing puts the two in order"),
                        ::testing::HasSubstr("the result lies on an operand")))
            << what << ": " << gpu.complaint() << status;
        ++counts[absl::StrCat(mutation.kind, ", ", mutation.name)];
        ++reported;
      }
    }
  }
  for (const auto &[name, count] : counts) {
    std::printf("%-60s %zu\n", name.c_str(), size_t(count));
  }
  EXPECT_GE(reported, kFewest);
}

} // namespace
} // namespace zerograph::testing
